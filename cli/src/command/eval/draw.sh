# Draws the first pages of a file on one sheet.
draw() {
    local file=$1 out=$2 work
    work=$(mktemp -d)
    case ${file,,} in
        *.html | *.htm)
            chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1400 \
                --screenshot="$work/page-1.png" "$file" ;;
        *.pdf) cp -- "$file" "$work/it.pdf" ;;
        *.epub) pandoc -f epub -t html5 -s --self-contained -o "$work/it.html" "$file" && chromium --headless \
            --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf="$work/it.pdf" "$work/it.html" ;;
        # With comments beside the text.
        *.docx | *.odt | *.rtf) soffice --headless --convert-to \
            'pdf:writer_pdf_Export:{"ExportNotesInMargin":{"type":"boolean","value":"true"}}' \
            --outdir "$work" "$file" && mv "$work"/*.pdf "$work/it.pdf" ;;
        *) soffice --headless --convert-to pdf --outdir "$work" "$file" && mv "$work"/*.pdf "$work/it.pdf" ;;
    esac > "$work/log" 2>&1
    [[ -f $work/it.pdf ]] && pdftoppm -png -r 60 -l 12 "$work/it.pdf" "$work/page" 2>> "$work/log"
    local pages=("$work"/page-*.png)
    if [[ ! -f ${pages[0]} ]]; then
        cat "$work/log"
        convert -size 420x60 -gravity center -background '#dde2e7' label:'This file could not be drawn.' "$out"
    elif ((${#pages[@]} == 1)); then
        cp "${pages[0]}" "$out"
    else
        montage "${pages[@]}" -tile 4x -geometry '420x+8+8' -background '#dde2e7' "$out"
    fi
    [[ -f $out ]] || : > "$out"
    rm -rf "$work"
}
