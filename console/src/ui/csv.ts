/** A parser for CSV and TSV. */

/** The maximum number of rows after the header. */
const MAX_ROWS = 500;

/** Parses the first rows of a file with quoting as in RFC 4180. */
export function parseCsv(text: string, separator = ","): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  const endRow = () => {
    row.push(cell);
    rows.push(row);
    [row, cell] = [[], ""];
  };
  for (let index = 0; index < text.length && rows.length <= MAX_ROWS; index++) {
    const char = text[index];
    if (isQuoted && char === '"' && text[index + 1] === '"') cell += text[++index];
    else if (char === '"' && (isQuoted || cell === "")) isQuoted = !isQuoted;
    else if (isQuoted) cell += char;
    else if (char === separator) [cell] = ["", row.push(cell)];
    else if (char === "\n") endRow();
    else if (char !== "\r") cell += char;
  }
  if (cell !== "" || row.length) endRow();
  return rows;
}
