"""The element order that WordprocessingML requires (ECMA-376 part 1, annex A)."""

ORDER = {
    "pPr": """
        pStyle keepNext keepLines pageBreakBefore framePr widowControl numPr suppressLineNumbers pBdr shd
        tabs suppressAutoHyphens kinsoku wordWrap overflowPunct topLinePunct autoSpaceDE autoSpaceDN bidi
        adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc
        textDirection textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr sectPr pPrChange
    """.split(),
    "rPr": """
        ins del moveFrom moveTo rStyle rFonts b bCs i iCs caps smallCaps strike dstrike outline shadow
        emboss imprint noProof snapToGrid vanish webHidden color spacing w kern position sz szCs highlight u
        effect bdr shd fitText vertAlign rtl cs em lang eastAsianLayout specVanish oMath rPrChange
    """.split(),
    "tblPr": """
        tblStyle tblpPr tblOverlap bidiVisual tblStyleRowBandSize tblStyleColBandSize tblW jc tblCellSpacing
        tblInd tblBorders shd tblLayout tblCellMar tblLook tblCaption tblDescription tblPrChange
    """.split(),
    "tcPr": """
        cnfStyle tcW gridSpan hMerge vMerge tcBorders shd noWrap tcMar textDirection tcFitText vAlign
        hideMark headers cellIns cellDel cellMerge tcPrChange
    """.split(),
    "sectPr": """
        headerReference footerReference footnotePr endnotePr type pgSz pgMar paperSrc pgBorders lnNumType
        pgNumType cols formProt vAlign noEndnote titlePg textDirection bidi rtlGutter docGrid
        printerSettings sectPrChange
    """.split(),
    "style": """
        name aliases basedOn next link autoRedefine hidden uiPriority semiHidden unhideWhenUsed qFormat
        locked personal personalCompose personalReply rsid pPr rPr tblPr trPr tcPr tblStylePr
    """.split(),
    "settings": """
        writeProtection view zoom removePersonalInformation removeDateAndTime doNotDisplayPageBoundaries
        displayBackgroundShape printPostScriptOverText printFractionalCharacterWidth printFormsData
        embedTrueTypeFonts embedSystemFonts saveSubsetFonts saveFormsData mirrorMargins alignBordersAndEdges
        bordersDoNotSurroundHeader bordersDoNotSurroundFooter gutterAtTop hideSpellingErrors
        hideGrammaticalErrors activeWritingStyle proofState formsDesign attachedTemplate linkStyles
        stylePaneFormatFilter stylePaneSortMethod documentType mailMerge revisionView trackRevisions
        doNotTrackMoves doNotTrackFormatting documentProtection autoFormatOverride styleLockTheme
        styleLockQFSet defaultTabStop autoHyphenation consecutiveHyphenLimit hyphenationZone
        doNotHyphenateCaps showEnvelope summaryLength clickAndTypeStyle defaultTableStyle evenAndOddHeaders
        bookFoldRevPrinting bookFoldPrinting bookFoldPrintingSheets drawingGridHorizontalSpacing
        drawingGridVerticalSpacing displayHorizontalDrawingGridEvery displayVerticalDrawingGridEvery
        doNotUseMarginsForDrawingGridOrigin drawingGridHorizontalOrigin drawingGridVerticalOrigin
        doNotShadeFormData noPunctuationKerning characterSpacingControl printTwoOnOne
        strictFirstAndLastChars noLineBreaksAfter noLineBreaksBefore savePreviewPicture
        doNotValidateAgainstSchema saveInvalidXml ignoreMixedContent alwaysShowPlaceholderText
        doNotDemarcateInvalidXml saveXmlDataOnly useXSLTWhenSaving saveThroughXslt showXMLTags
        alwaysMergeEmptyNamespace updateFields hdrShapeDefaults footnotePr endnotePr compat docVars rsids
        mathPr attachedSchema themeFontLang clrSchemeMapping doNotIncludeSubdocsInStats
        doNotAutoCompressPictures forceUpgrade captions readModeInkLockDown smartTagType schemaLibrary
        shapeDefaults doNotEmbedSmartTags decimalSymbol listSeparator
    """.split(),
}
