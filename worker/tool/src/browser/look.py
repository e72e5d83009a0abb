"""Queries of pages: their text, links, tables, forms and elements, and screenshots."""

SELECTOR = """it => {
  const steps = [];
  for (; it && it.nodeType === 1 && steps.length < 8; it = it.parentElement) {
    if (it.id) { steps.unshift('#' + CSS.escape(it.id)); break; }
    const same = it.parentElement ? [...it.parentElement.children].filter(other => other.tagName === it.tagName) : [it];
    const place = same.length > 1 ? `:nth-of-type(${same.indexOf(it) + 1})` : '';
    steps.unshift(it.tagName.toLowerCase() + place);
  }
  return steps.join(' > ');
}"""

PAGE = """
() => {
  const meta = {};
  for (const element of document.querySelectorAll('meta[name], meta[property]')) {
    const name = element.getAttribute('name') || element.getAttribute('property');
    if (Object.keys(meta).length < 40) meta[name] = (element.getAttribute('content') || '').slice(0, 500);
  }
  const canonical = document.querySelector('link[rel=canonical]');
  return {
    url: location.href, title: document.title, language: document.documentElement.lang,
    canonical: canonical ? canonical.href : null, metadata: meta,
    headings: [...document.querySelectorAll('h1, h2, h3')].slice(0, 60)
      .map(it => ({level: Number(it.tagName[1]), text: it.innerText.trim().slice(0, 200)})).filter(it => it.text),
    text: document.body ? document.body.innerText.replace(/\\n{3,}/g, '\\n\\n').trim() : '',
    counts: {links: document.links.length, tables: document.querySelectorAll('table').length,
             images: document.images.length, forms: document.forms.length},
  };
}
"""

LINKS = """
({limit, selector}) => {
  const root = selector ? document.querySelector(selector) : document;
  const seen = new Set(), found = [];
  for (const link of root ? root.querySelectorAll('a[href], area[href]') : []) {
    if (typeof link.href !== 'string') continue;
    const key = link.href + ' ' + link.innerText.trim();
    if (seen.has(key) || found.length >= limit) continue;
    seen.add(key);
    found.push({text: link.innerText.trim().slice(0, 200), url: link.href});
  }
  return found;
}
"""

TABLES = """
({limit, selector}) => {
  const root = selector ? document.querySelector(selector) : document;
  const tables = root && root.matches && root.matches('table') ? [root] : [...(root ? root.querySelectorAll('table') : [])];
  return tables.slice(0, limit).map(table => ({
    caption: table.caption ? table.caption.innerText.trim() : null,
    rows: [...table.rows].slice(0, 2000).map(row => [...row.cells].map(cell => cell.innerText.trim())),
  }));
}
"""

SEARCH = """
({selector, text, limit}) => {
  let elements;
  if (selector) {
    elements = [...document.querySelectorAll(selector)];
  } else {
    elements = [...document.querySelectorAll('body *')].filter(it => !['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(it.tagName));
  }
  if (text) {
    const wanted = text.toLowerCase();
    elements = elements.filter(it => (it.innerText || it.textContent || '').toLowerCase().includes(wanted));
    // The innermost elements have the exact position.
    if (!selector) elements = elements.filter(it => !elements.some(other => other !== it && it.contains(other)));
  }
  return {
    found: elements.length,
    elements: elements.slice(0, limit).map(it => ({
      tag: it.tagName.toLowerCase(), selector: SELECTOR(it),
      text: (it.innerText || it.textContent || '').trim().slice(0, 1000),
      attributes: Object.fromEntries([...it.attributes].slice(0, 20).map(a => [a.name, a.value.slice(0, 500)])),
    })),
  };
}
"""


FORMS = """
() => {
  const visible = it => it.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const label = it => (it.labels && it.labels.length ? it.labels[0].innerText : it.getAttribute('aria-label')
    || it.placeholder || it.title || '').trim().slice(0, 200);
  const one = it => {
    const field = {selector: SELECTOR(it), type: it.tagName === 'INPUT' ? it.type : it.tagName.toLowerCase()};
    if (it.name) field.name = it.name;
    if (label(it)) field.label = label(it);
    if (it.required) field.required = true;
    if (it.disabled) field.disabled = true;
    if (['checkbox', 'radio'].includes(it.type)) field.checked = it.checked;
    if (it.type !== 'password' && it.value) field.value = String(it.value).slice(0, 500);
    if (it.tagName === 'SELECT') field.options = [...it.options].slice(0, 100).map(option => option.label.trim());
    if (it.tagName === 'BUTTON' || ['submit', 'button'].includes(it.type)) field.label = (it.innerText || it.value || label(it)).trim();
    if (it.validationMessage) field.invalid = it.validationMessage;
    return field;
  };
  const fields = [...document.querySelectorAll('input, select, textarea, button')];
  return fields.filter(it => it.type !== 'hidden' && visible(it)).slice(0, 200).map(one);
}
"""


def ask(browser, script, argument=None):
    """Runs a script that uses the shared functions in the page."""
    return browser.evaluate(script.replace("SELECTOR(", f"({SELECTOR})("), argument)


def page(browser, asked):
    found = browser.evaluate(PAGE)
    found["status"] = browser.status
    found["links"] = browser.evaluate(LINKS, {"limit": 50})
    return found


def extract(browser, asked):
    what, selector = asked["what"], asked.get("selector")
    if selector and not browser.evaluate("s => !!document.querySelector(s)", selector):
        raise Trouble(f"no element matches `{selector}`")
    if what == "links":
        return {"links": browser.evaluate(LINKS, {"limit": 2000, "selector": selector})}
    if what == "tables":
        return {"tables": browser.evaluate(TABLES, {"limit": 100, "selector": selector})}
    if what == "forms":
        return {"fields": ask(browser, FORMS)}
    if what == "text" and selector:
        return {"text": browser.evaluate("s => document.querySelector(s).innerText.trim()", selector)}
    found = browser.evaluate(PAGE)
    if what == "text":
        return {"text": found["text"]}
    del found["text"]
    return found


def search(browser, asked):
    if not asked.get("selector") and not asked.get("text"):
        raise Trouble("give a `selector`, a `text`, or both")
    wanted = {"selector": asked.get("selector"), "text": asked.get("text"), "limit": asked.get("limit") or 20}
    return ask(browser, SEARCH, wanted)


def screenshot(browser, asked):
    clip = {}
    if asked.get("selector"):
        box = browser.evaluate(
            "(s) => { const it = document.querySelector(s); if (!it) return null; const b = it.getBoundingClientRect();"
            " return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1}; }",
            asked["selector"],
        )
        if not box or box["width"] < 1 or box["height"] < 1:
            raise Trouble(f"no visible element matches `{asked['selector']}`")
        clip = {"clip": box, "captureBeyondViewport": True}
    elif asked.get("full_page"):
        size = browser.call("Page.getLayoutMetrics")["cssContentSize"]
        box = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], MAX_PIXELS), "scale": 1}
        clip = {"clip": box, "captureBeyondViewport": True}
    shot = browser.call("Page.captureScreenshot", format="png", **clip)
    path = asked.get("path") or "screenshot.png"
    if not path.endswith(".png") or os.path.isabs(path) or ".." in path.split("/"):
        raise Trouble("path: the screenshot needs a path in the workspace that ends in .png")
    content = base64.b64decode(shot["data"])
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise Trouble(f"the screenshot cannot be written to `{path}`: {error.strerror}") from error
    width, height = (int.from_bytes(content[at:at + 4], "big") for at in (16, 20))
    return {"path": path, "width": width, "height": height, "bytes": len(content), "status": browser.status}
