//! `pdf`: new files, checked with Poppler's programs, and changed files, checked with a different library.

use serde_json::json;

use super::made::{Made, can_run};
use crate::support::{Service, bash};

#[tokio::test]
async fn a_report_has_its_figures_on_pages_that_are_not_blank() {
    let service = Service::start().await;
    if !can_run(&service, "pdf", &["chromium"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/pdf.md");
    let made = Made::of_bakery(&service, "pdf", prompt).await;
    assert_eq!(made.outputs(), [("bakery-report.pdf", "application/pdf")]);
    let info = made.ask("pdfinfo", &["bakery-report.pdf"]);
    assert!(
        info.contains("Pages:           2")
            && info.contains("(A4)")
            && info.contains("Tagged:          yes"),
        "{info}"
    );
    let text = made.ask("pdftotext", &["-layout", "bakery-report.pdf", "-"]);
    for word in ["Sales grew by 13.3 % in 2025", "161,006 €", "303,084"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    // Headings, the table and the chart are tagged for screen readers.
    let structure = made.ask(
        "qpdf",
        &[
            "--qdf",
            "--object-streams=disable",
            "bakery-report.pdf",
            "-",
        ],
    );
    for part in ["/S /H1", "/S /TH", "/S /Figure", "/Alt (Stacked columns"] {
        assert!(structure.contains(part), "{part}");
    }
    let pages = made.pages("bakery-report.pdf");
    assert_eq!(pages.len(), 2);
    for page in pages {
        assert_eq!((page.width, page.height), (331, 468));
        assert!(page.ink() > 0.03, "{}", page.ink());
    }
}

#[tokio::test]
async fn pages_are_merged_turned_stamped_and_locked() {
    let service = Service::start().await;
    if !can_run(&service, "pdf", &[]).await {
        return;
    }
    let prompt = [
        bash(
            "python3 - <<'END'\nfrom reportlab.pdfgen import canvas\nfor name, count in ('a', 3), ('b', 2):\n    \
             c = canvas.Canvas(name + '.pdf')\n    for page in range(1, count + 1):\n        \
             c.drawString(72, 700, f'{name}{page}')\n        c.showPage()\n    c.save()\n\
             c = canvas.Canvas('stamp.pdf')\nc.drawString(200, 400, 'DRAFT')\nc.save()\nEND",
        ),
        bash("qpdf --empty --pages b.pdf z-1 a.pdf 1,3 -- order.pdf"),
        bash(
            "qpdf order.pdf --rotate=+90:2 -- turned.pdf && qpdf turned.pdf --overlay stamp.pdf --repeat=1 -- all.pdf",
        ),
        bash("qpdf --encrypt open own 256 -- all.pdf locked.pdf"),
        "output document: all.pdf\noutput document: locked.pdf".to_owned(),
    ];
    let made = Made::of(&service, "pdf", &prompt.join("\n"), &[], json!({})).await;
    let said = made.ask_python(
        "from pypdf import PdfReader\nfor page in PdfReader('all.pdf').pages: \
         print(page.extract_text().split(), page.get('/Rotate', 0))",
    );
    let expected = "['b2', 'DRAFT'] 0\n['b1', 'DRAFT'] 90\n['a1', 'DRAFT'] 0\n['a3', 'DRAFT'] 0\n";
    assert_eq!(said, expected);
    let locked = made.ask("pdfinfo", &["-upw", "open", "locked.pdf"]);
    assert!(locked.contains("Encrypted:       yes"), "{locked}");
}

#[tokio::test]
async fn a_form_is_filled_in() {
    let service = Service::start().await;
    if !can_run(&service, "pdf", &[]).await {
        return;
    }
    let prompt = [
        bash(
            "python3 -c \"from reportlab.pdfgen.canvas import Canvas; c = Canvas('form.pdf'); c.drawString(50, 705, 'Name'); \
             c.acroForm.textfield(name='name', x=99, y=700, width=200, height=20); \
             c.acroForm.checkbox(name='agree', x=99, y=650); c.save()\"",
        ),
        bash(
            r#"python3 - <<'END'
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject
writer = PdfWriter()
writer.clone_document_from_reader(PdfReader("form.pdf"))
for page in writer.pages:
    writer.update_page_form_field_values(page, {"name": "Zoë Öst"})
    for field in (a.get_object() for a in page.get("/Annots", [])):
        if field.get("/T") == "agree":
            field.update({NameObject("/V"): NameObject("/Yes"), NameObject("/AS"): NameObject("/Yes")})
writer.set_need_appearances_writer()
writer.write("filled.pdf")
END"#,
        ),
        "output document: filled.pdf".to_owned(),
    ];
    let made = Made::of(&service, "pdf", &prompt.join("\n"), &[], json!({})).await;
    assert!(
        made.ask("pdftotext", &["filled.pdf", "-"])
            .contains("Zoë Öst")
    );
    let raw = made.ask(
        "qpdf",
        &["--qdf", "--object-streams=disable", "filled.pdf", "-"],
    );
    assert!(raw.contains("/V /Yes"), "the box is not ticked");
}
