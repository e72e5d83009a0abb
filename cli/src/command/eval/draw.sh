# Draws the first pages of a file on one sheet.
draw() {
    local file=$1 out=$2 work comments
    work=$(mktemp -d)
    case ${file,,} in
        *.html | *.htm)
            chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,1400 \
                --screenshot="$work/page-1.png" "$file" ;;
        *.pdf) cp -- "$file" "$work/it.pdf" ;;
        *.epub) pandoc -f epub -t html5 -s --self-contained -M date= -o "$work/it.html" "$file" && chromium --headless \
            --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf="$work/it.pdf" "$work/it.html" ;;
        *) soffice --headless --convert-to pdf --outdir "$work" "$file" && mv "$work"/*.pdf "$work/it.pdf" ;;
    esac > "$work/log" 2>&1
    [[ -f $work/it.pdf ]] && pdftoppm -png -r 90 -l 12 "$work/it.pdf" "$work/page" 2>> "$work/log"
    local pages=("$work"/page-*.png)
    if [[ ! -f ${pages[0]} ]]; then
        # An empty file would end the job before the other files are drawn.
        convert -size 800x -pointsize 18 -fill '#8a1f11' -background white -font DejaVu-Sans \
            caption:"$file cannot be rendered: $(tail -n 1 "$work/log" | cut -c 1-300)" "$out"
    elif ((${#pages[@]} == 1)); then
        cp "${pages[0]}" "$out"
    else
        # Few pages are large enough to be read.
        local width=420 tile=4x
        ((${#pages[@]} > 3)) || width=744 tile=x1
        montage "${pages[@]}" -tile "$tile" -geometry "${width}x+8+8" -background '#dde2e7' "$out"
    fi
    # LibreOffice prints no comments.
    comments=$(unzip -p "$file" word/comments.xml 2>/dev/null \
        | sed 's|</w:p>|\n|g; s|<w:comment [^>]*w:author="\([^"]*\)"[^>]*>|\1: |g; s|<[^>]*>||g' | grep . || true)
    [[ $comments ]] && convert "$out" -background white -fill '#22303c' -font DejaVu-Sans -pointsize 16 -size 744x \
        caption:"Comments:
${comments//%/%%}" -append "$out"
    rm -rf "$work"
}
