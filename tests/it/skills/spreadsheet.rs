//! `spreadsheet`: formulas from openpyxl, computed and rendered by LibreOffice.

use serde_json::json;

use super::made::{Made, can_run};
use crate::support::{Service, bash};

const EXCEL: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

#[tokio::test]
async fn a_workbook_has_live_formulas_and_a_chart() {
    let service = Service::start().await;
    if !can_run(&service, "spreadsheet", &["soffice", "pdftotext"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/spreadsheet.md");
    let made = Made::of_bakery(&service, "spreadsheet", prompt).await;
    assert_eq!(made.outputs(), [("bakery.xlsx", EXCEL)]);

    // The plan must follow a changed growth rate.
    made.ask_python(
        "import openpyxl\nbook = openpyxl.load_workbook('bakery.xlsx')\nbook['Summary']['B3'] = 0.5\nbook.save('bakery.xlsx')",
    );
    let pages = made.pages_of_office_file("bakery.xlsx");
    assert_eq!(pages.len(), 2);
    assert!(pages.iter().all(|page| page.width > page.height));
    // The bars of the chart.
    assert!(pages[0].ink() > 0.05, "{}", pages[0].ink());
    let text = made.ask("pdftotext", &["-layout", "bakery.pdf", "-"]);
    for words in [
        "142,078",
        "161,006",
        "+13.3%",
        "241,509",
        "Closed from the 5th",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(!text.contains('#'), "{text}");
}

#[tokio::test]
async fn a_table_of_another_country_is_read_as_it_was_meant() {
    let service = Service::start().await;
    if !can_run(&service, "spreadsheet", &["soffice"]).await {
        return;
    }
    let given =
        b"id;name;amount;date\n007;M\xfcller;\"1.234,50\";03.04.2025\n008;NA;5,25;31.12.2025\n";
    let clean = r##"python3 - <<'END'
import csv, datetime
from openpyxl import Workbook
book = Workbook()
sheet = book.active
with open("orders.csv", encoding="cp1252", newline="") as file:
    rows = csv.reader(file, delimiter=";")
    sheet.append(next(rows))
    for number, name, amount, date in rows:
        amount = float(amount.replace(".", "").replace(",", "."))
        sheet.append([number, name, amount, datetime.datetime.strptime(date, "%d.%m.%Y").date()])
for row in sheet.iter_rows(min_row=2):
    row[2].number_format, row[3].number_format = "0.00", "yyyy-mm-dd"
sheet["C4"] = "=SUM(C2:C3)"
book.save("orders.xlsx")
END"##;
    let prompt = format!("{}\noutput document: orders.xlsx", bash(clean));
    let inputs = [("orders.csv", given.as_slice())];
    let made = Made::of(&service, "spreadsheet", &prompt, &inputs, json!({})).await;
    made.ask(
        "soffice",
        &[
            "--headless",
            "--convert-to",
            "csv:Text - txt - csv (StarCalc):44,34,76",
            "orders.xlsx",
        ],
    );
    let csv = std::fs::read_to_string(made.path("orders.csv")).unwrap();
    assert_eq!(
        csv,
        "id,name,amount,date\n007,Müller,1234.50,2025-04-03\n008,NA,5.25,2025-12-31\n,,1239.75,\n"
    );
}
