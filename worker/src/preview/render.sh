# Renders `document.EXTENSION` as `document.pdf` and its first pages as `page-NUMBER.jpg`.
# The last line of output is `pages NUMBER`, or `failed REASON`.
# Jobs have priority over previews.
renice -n 19 -p $$ > /dev/null 2>&1
ionice -c 3 -p $$ > /dev/null 2>&1

fail() {
    echo "failed $1"
    exit 1
}

profile="file://$TMPDIR/profile"
soffice --headless --norestore "-env:UserInstallation=$profile" --convert-to pdf document.* > /dev/null 2>&1
[[ -f document.pdf ]] || fail "LibreOffice cannot read the document"

total=$(LC_ALL=C pdfinfo document.pdf 2> /dev/null | sed -n 's/^Pages: *\([0-9]\{1,6\}\)$/\1/p')
((total > 0)) || fail "the document has no pages"

for ((page = 1; page <= total && page <= MAX_PAGES; page++)); do
    pdftoppm -jpeg -jpegopt quality=85 -singlefile -cropbox -scale-to "$LONG_EDGE" -f "$page" -l "$page" \
        document.pdf "page-$page" > /dev/null 2>&1 || fail "page $page cannot be rendered"
done
echo "pages $total"
