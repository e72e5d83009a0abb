//! `docx`: output of python-docx, rendered by LibreOffice and read by pandoc.

use serde_json::json;

use super::made::{Made, can_run, has_module};
use crate::support::{Service, bash};

const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

#[tokio::test]
async fn a_report_has_styles_tables_and_lists() {
    let service = Service::start().await;
    if !can_run(&service, "docx", &["soffice", "pandoc", "pdftotext"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/docx.md");
    let made = Made::of_bakery(&service, "docx", prompt).await;
    assert_eq!(made.outputs(), [("bakery-report.docx", WORD)]);
    let read = made.ask("pandoc", &["bakery-report.docx", "-t", "json"]);
    let read: serde_json::Value = serde_json::from_str(&read).unwrap();
    let blocks = read["blocks"].as_array().unwrap();
    let count = |kind: &str| blocks.iter().filter(|block| block["t"] == kind).count();
    assert_eq!(
        (count("Header"), count("Table"), count("BulletList")),
        (4, 2, 2)
    );

    let pages = made.pages_of_office_file("bakery-report.docx");
    assert_eq!(pages.len(), 2);
    for page in pages {
        assert_eq!((page.width, page.height), (331, 468));
        assert!(page.ink() > 0.02, "{}", page.ink());
    }
    let text = made.ask("pdftotext", &["-layout", "bakery-report.pdf", "-"]);
    for words in ["161,006 euros", "Page 1 of 2", "March 2024:", "303,084"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[tokio::test]
async fn what_the_package_of_node_wrote_is_read_by_the_one_of_python() {
    let service = Service::start().await;
    let skill = "docx";
    if !can_run(&service, skill, &["soffice"]).await
        || !has_module(&service, skill, "node:docx").await
    {
        return;
    }
    let write = r#"node - <<'END'
const fs = require("fs")
const d = require("docx")
const cell = text => new d.TableCell({ children: [new d.Paragraph(text)] })
const document = new d.Document({ sections: [{ children: [
  new d.Paragraph({ text: "Rolls", heading: d.HeadingLevel.HEADING_1 }),
  new d.Paragraph({ children: [new d.TextRun("Sold "), new d.TextRun({ text: "forty", bold: true })] }),
  new d.Table({ rows: [["Day", "Rolls"], ["Monday", "40"]].map(row => new d.TableRow({ children: row.map(cell) })) }),
] }] })
d.Packer.toBuffer(document).then(bytes => fs.writeFileSync("rolls.docx", bytes))
END"#;
    let prompt = format!("{}\noutput document: rolls.docx", bash(write));
    let made = Made::of(&service, skill, &prompt, &[], json!({})).await;
    assert_eq!(made.outputs(), [("rolls.docx", WORD)]);
    let read = made.ask_python(
        "import docx\nd = docx.Document('rolls.docx')\n\
         print([(p.style.name, p.text) for p in d.paragraphs], d.paragraphs[1].runs[1].bold)\n\
         print([[c.text for c in r.cells] for r in d.tables[0].rows])",
    );
    let [paragraphs, table] = read.lines().collect::<Vec<_>>()[..] else {
        panic!("{read}")
    };
    assert!(
        paragraphs.starts_with("[('Heading 1', 'Rolls'), ('Normal', 'Sold forty')")
            && paragraphs.ends_with("True"),
        "{paragraphs}"
    );
    assert_eq!(table, "[['Day', 'Rolls'], ['Monday', '40']]");
    let pages = made.pages_of_office_file("rolls.docx");
    assert!(pages.len() == 1 && pages[0].ink() > 0.001);
}

#[tokio::test]
async fn words_of_a_given_document_change_and_its_formats_stay() {
    let service = Service::start().await;
    if !can_run(&service, "docx", &["pandoc"]).await {
        return;
    }
    let write = r#"python3 - <<'END'
from docx import Document
d = Document()
p = d.add_paragraph("Payable by ")
p.add_run("31 ").bold = True
p.add_run("March 2025").bold = True
p.add_run(" at the latest.")
d.save("terms.docx")
END"#;
    let prompt = format!("{}\noutput document: terms.docx", bash(write));
    let made = Made::of(&service, "docx", &prompt, &[], json!({})).await;
    let given = std::fs::read(made.path("terms.docx")).unwrap();

    let change = r#"python3 - <<'END'
from docx import Document

def replace(p, old, new):
    text = "".join(r.text for r in p.runs)
    start = text.find(old)
    if start < 0: return False
    end, at, put = start + len(old), 0, new
    for r in p.runs:
        a, b = at, at + len(r.text)
        at = b
        if b <= start or a >= end: continue
        r.text, put = r.text[:max(0, start - a)] + put + r.text[max(0, end - a):], ""
    return True

d = Document("terms.docx")
assert replace(d.paragraphs[0], "31 March", "15 April")
d.save("terms-april.docx")
END"#;
    let prompt = format!("{}\noutput document: terms-april.docx", bash(change));
    let inputs = [("terms.docx", given.as_slice())];
    let made = Made::of(&service, "docx", &prompt, &inputs, json!({})).await;
    let text = made.ask("pandoc", &["terms-april.docx", "-t", "markdown"]);
    assert_eq!(text, "Payable by **15 April 2025** at the latest.\n");
}
