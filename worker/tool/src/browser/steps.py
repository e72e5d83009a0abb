"""Steps on a page: open, click, type, wait, extract. Input is sent as mouse and key events."""

# The maximum length of the page's text in the report of a failed step.
MAX_SHOWN_TEXT = 2000
MAX_WAIT_SECONDS = 30
# The minimum time that must be left when a step begins.
STEP_RESERVE_SECONDS = 5
# Modifier keys with their bits, and keys with names.
MODIFIERS = {"alt": 1, "control": 2, "ctrl": 2, "meta": 4, "shift": 8}
KEYS = {
    "enter": ("Enter", 13, "\r"), "tab": ("Tab", 9, None), "escape": ("Escape", 27, None),
    "backspace": ("Backspace", 8, None), "delete": ("Delete", 46, None), "space": (" ", 32, " "),
    "home": ("Home", 36, None), "end": ("End", 35, None), "pageup": ("PageUp", 33, None),
    "pagedown": ("PageDown", 34, None), "arrowleft": ("ArrowLeft", 37, None), "arrowup": ("ArrowUp", 38, None),
    "arrowright": ("ArrowRight", 39, None), "arrowdown": ("ArrowDown", 40, None),
}

# Finds elements by selector, by text or by both, the most likely ones first. Searches open shadow roots.
FIND = """(kind, selector, text) => {
  const deep = (root, selector) => [...root.querySelectorAll(selector)].concat(
    ...[...root.querySelectorAll('*')].filter(it => it.shadowRoot).map(it => deep(it.shadowRoot, selector)));
  const visible = it => it.checkVisibility({checkVisibilityCSS: true}) && it.getClientRects().length > 0;
  const fields = 'input:not([type=hidden]), textarea, select, [contenteditable=""], [contenteditable=true]';
  const controls = 'a, button, summary, label, option, input, [role=button], [role=link], [role=tab], [role=menuitem],'
    + ' [role=option], [role=checkbox], [role=switch], [onclick]';
  const names = it => [
    ...(kind === 'field' ? [...(it.labels || [])].map(label => label.innerText) : [it.innerText]),
    ['submit', 'button', 'reset'].includes(it.type) ? it.value : '',
    it.getAttribute('aria-label'), it.getAttribute('placeholder'), it.title, it.alt,
    kind === 'field' ? it.name : '', kind === 'field' ? it.id : '',
  ].map(name => (name || '').replace(/\\s+/g, ' ').trim().toLowerCase()).filter(Boolean);
  let found = deep(document, selector || (kind === 'field' ? fields : kind === 'control' ? controls : 'body *'));
  // Pages often hide a file input behind a styled element.
  found = found.filter(it => it.type === 'file' || visible(it));
  if (!text) return found;
  const wanted = text.replace(/\\s+/g, ' ').trim().toLowerCase();
  const narrow = test => {
    const some = found.filter(it => names(it).some(test));
    return some.filter(it => !some.some(other => other !== it && it.contains(other)));
  };
  let some = narrow(name => name === wanted);
  if (!some.length) some = narrow(name => name.includes(wanted));
  if (!some.length && kind === 'control' && !selector) {
    found = deep(document, 'body *').filter(it => !['SCRIPT', 'STYLE'].includes(it.tagName) && visible(it));
    some = narrow(name => name === wanted);
    if (!some.length) some = narrow(name => name.includes(wanted));
  }
  return some;
}"""

COUNT = "({kind, selector, text}) => FIND(kind, selector, text).length"

# Scrolls an element into view, and returns the point to click and the element that covers it, if any.
POINT = """
async ({selector, text}) => {
  const found = FIND('control', selector, text);
  if (!found.length) return null;
  const it = found[0];
  it.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const box = [...it.getClientRects()].find(box => box.width > 0 && box.height > 0) || it.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  let top = document.elementFromPoint(x, y);
  while (top && top.shadowRoot && top.shadowRoot.elementFromPoint(x, y) !== top && top.shadowRoot.elementFromPoint(x, y))
    top = top.shadowRoot.elementFromPoint(x, y);
  const gets = !top || it.contains(top) || top.contains(it) || (top.closest('label') || {}).control === it;
  return {
    x, y, clicked: it.tagName.toLowerCase(), text: (it.innerText || it.value || '').trim().slice(0, 100),
    disabled: !!it.disabled, matches: found.length,
    covered: gets ? null : `${top.tagName.toLowerCase()} ${(top.innerText || '').trim().slice(0, 80)}`.trim(),
  };
}
"""

# Focuses a field and selects its content, so that typing replaces it.
FOCUS = """
({selector, text, keep}) => {
  const found = FIND('field', selector, text);
  if (!found.length) return null;
  const it = found[0];
  if (it.disabled || it.readOnly) return {problem: 'cannot be edited: it is disabled or read-only'};
  if (it.tagName === 'SELECT') return {problem: 'is a list of options: use `select`'};
  if (['checkbox', 'radio'].includes(it.type)) return {problem: 'is a checkbox or radio button: use `click`'};
  if (it.type === 'file') return {problem: 'is a file input: use `upload`'};
  it.scrollIntoView({block: 'center', behavior: 'instant'});
  it.focus();
  const isTyped = it.isContentEditable || !['date', 'time', 'month', 'week', 'datetime-local', 'color', 'range'].includes(it.type);
  if (isTyped && it.isContentEditable) {
    const range = document.createRange();
    range.selectNodeContents(it);
    if (keep) range.collapse(false);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  } else if (isTyped && !keep) {
    it.select();
  } else if (isTyped) {
    try { it.setSelectionRange(it.value.length, it.value.length); } catch (error) { /* e-mail and number fields have no caret */ }
  }
  window.__field = it;
  return {isTyped, isEmpty: !it.isContentEditable && it.value === '', matches: found.length};
}
"""

SET = """
value => {
  const it = window.__field;
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(it), 'value').set.call(it, value);
  it.dispatchEvent(new Event('input', {bubbles: true}));
  it.dispatchEvent(new Event('change', {bubbles: true}));
}
"""

TYPED = """
() => {
  const it = window.__field;
  delete window.__field;
  if (!it || it.type === 'password') return {};
  return {value: String(it.isContentEditable ? it.innerText : it.value).slice(0, 500)};
}
"""

SELECT = """
({selector, text, value}) => {
  const it = FIND('field', selector, text)[0];
  if (!it) return null;
  if (it.tagName !== 'SELECT') return {problem: 'is not a list of options: use `click` or `type`'};
  const options = [...it.options], wanted = value.trim().toLowerCase();
  const option = options.find(option => option.value === value)
    || options.find(option => option.label.trim().toLowerCase() === wanted)
    || options.find(option => option.label.toLowerCase().includes(wanted));
  if (!option) return {problem: `has no option \\`${value}\\`; it has: ${options.slice(0, 50).map(it => it.label.trim()).join(', ')}`};
  if (it.multiple) option.selected = true; else it.value = option.value;
  it.dispatchEvent(new Event('input', {bubbles: true}));
  it.dispatchEvent(new Event('change', {bubbles: true}));
  return {selected: option.label.trim()};
}
"""

CONTROLS = """
() => FIND('control').filter(it => it.tagName === 'INPUT' ? ['submit', 'button', 'reset', 'image'].includes(it.type)
  : !['OPTION', 'LABEL'].includes(it.tagName)).slice(0, 60).map(it => {
  const text = (it.innerText || it.value || it.getAttribute('aria-label') || '').replace(/\\s+/g, ' ').trim().slice(0, 80);
  return `${it.tagName.toLowerCase()} ${text}`.trim();
})
"""

SCROLL = """
({selector, text, value}) => {
  if (selector || text) {
    const it = FIND('any', selector, text)[0];
    if (!it) return null;
    it.scrollIntoView({block: 'center', behavior: 'instant'});
  } else if (value === 'top') scrollTo({top: 0, behavior: 'instant'});
  else if (value && value !== 'bottom') scrollBy({top: Number(value), behavior: 'instant'});
  else scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'});
  return {scrolled_to: Math.round(scrollY), page_height: document.documentElement.scrollHeight};
}
"""


def wanted(step):
    """Returns a description of the element that the step refers to."""
    parts = [f"`{step[name]}`" for name in ("selector", "text") if step.get(name)]
    if not parts:
        raise Trouble("give the element as `selector` or `text`")
    return " with the text ".join(parts) if len(parts) == 2 else parts[0]


def found(step, result, what="no visible element"):
    if result is None:
        raise Trouble(f"{what} matches {wanted(step)}")
    if result.get("problem"):
        raise Trouble(f"{wanted(step)} {result['problem']}")
    return result


def on_page(browser, script, argument):
    return browser.evaluate(script.replace("FIND(", f"({FIND})("), argument)


def target(step):
    return {name: step.get(name) for name in ("selector", "text", "value")}


def needed(step, name):
    if step.get(name) is None:
        raise Trouble(f"`{name}` is required")
    return step[name]


def step_open(browser, step, number):
    browser.open(address(needed(step, "url")))
    return {}


def step_back(browser, step, number):
    history = browser.call("Page.getNavigationHistory")
    if history["currentIndex"] == 0:
        raise Trouble("there is no page before this one")
    entry = history["entries"][history["currentIndex"] - 1]
    browser.call("Page.navigateToHistoryEntry", entryId=entry["id"])
    browser.settle()
    return {}


def step_click(browser, step, number):
    wanted(step)
    place = found(step, on_page(browser, POINT, target(step)))
    if place["disabled"]:
        raise Trouble(f"{wanted(step)} is disabled")
    if place["covered"]:
        raise Trouble(f"{wanted(step)} is covered by: {place['covered']}")
    browser.accepts_dialogs = bool(step.get("accept_dialog"))
    for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        browser.send(
            "Input.dispatchMouseEvent", browser.tab.session,
            type=kind, x=place["x"], y=place["y"], buttons=buttons, **button,
        )
    browser.settle()
    browser.accepts_dialogs = False
    shown = {"clicked": f"{place['clicked']} {place['text']}".strip()}
    if place["matches"] > 1:
        shown["note"] = f"the first of {place['matches']} matching elements"
    return shown


def step_type(browser, step, number):
    value = str(needed(step, "value"))
    wanted(step)
    keep = bool(step.get("append"))
    field = found(step, on_page(browser, FOCUS, {**target(step), "keep": keep}), "no field")
    if not field["isTyped"]:
        browser.evaluate(SET, value)
    elif value:
        browser.call("Input.insertText", text=value)
    elif not field["isEmpty"]:
        key(browser, "Delete")
    shown = browser.evaluate(TYPED)
    if step.get("submit"):
        key(browser, "Enter")
        browser.settle()
    return shown


def step_select(browser, step, number):
    needed(step, "value")
    wanted(step)
    shown = found(step, on_page(browser, SELECT, target(step)), "no field")
    browser.settle()
    return shown


def step_upload(browser, step, number):
    path = os.path.realpath(needed(step, "path"))
    if not path.startswith(os.getcwd() + "/") or not os.path.isfile(path):
        raise Trouble(f"`{step['path']}` is not a file of the workspace")
    wanted(step)
    script = "({selector, text}) => { window.__field = FIND('field', selector, text)[0]; return window.__field ? {type: window.__field.type} : null; }"
    field = found(step, on_page(browser, script, target(step)), "no field")
    if field["type"] != "file":
        raise Trouble(f"{wanted(step)} is not a file input")
    handle = browser.call("Runtime.evaluate", expression="window.__field")["result"]["objectId"]
    browser.call("DOM.setFileInputFiles", files=[path], objectId=handle)
    browser.settle()
    return {"uploaded": step["path"]}


def key(browser, name):
    """Presses a key, with modifiers as in `Control+A`."""
    *modifiers, last = name.split("+") if name != "+" else ["+"]
    bits = 0
    for modifier in modifiers:
        if modifier.lower() not in MODIFIERS:
            raise Trouble(f"`{modifier}` is not a modifier key; available: Alt, Control, Meta, Shift")
        bits |= MODIFIERS[modifier.lower()]
    if last.lower() in KEYS:
        label, code, text = KEYS[last.lower()]
    elif len(last) == 1:
        label, code, text = last, ord(last.upper()), last
    else:
        known = ", ".join(label if label != " " else "Space" for label, _, _ in KEYS.values())
        raise Trouble(f"`{last}` is not a key; available: single characters, {known}")
    event = {"key": label, "code": label, "windowsVirtualKeyCode": code, "modifiers": bits}
    if text and not bits & ~MODIFIERS["shift"]:
        event["text"] = text
    if bits & MODIFIERS["control"] and last.lower() == "a":
        event["commands"] = ["selectAll"]
    browser.call("Input.dispatchKeyEvent", type="keyDown" if "text" in event else "rawKeyDown", **event)
    event.pop("text", None)
    event.pop("commands", None)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **event)


def step_press(browser, step, number):
    key(browser, needed(step, "key"))
    browser.settle()
    return {}


def step_wait(browser, step, number):
    seconds = min(step.get("seconds") or (10 if step.get("selector") or step.get("text") else 1), MAX_WAIT_SECONDS)
    until = min(time.monotonic() + seconds, browser.deadline)
    if not step.get("selector") and not step.get("text"):
        while time.monotonic() < until:
            browser.pump(until)
        return {"waited_seconds": seconds}
    gone, begun = bool(step.get("gone")), time.monotonic()
    while True:
        if bool(on_page(browser, COUNT, {"kind": "any", **target(step)})) != gone:
            return {"waited_seconds": round(time.monotonic() - begun, 1)}
        if time.monotonic() > until:
            raise Trouble(f"{wanted(step)} was {'still' if gone else 'not'} visible after {seconds} s")
        browser.pump(time.monotonic() + 0.2)


def step_scroll(browser, step, number):
    value = step.get("value")
    if value not in (None, "top", "bottom") and not value.lstrip("-").isdigit():
        raise Trouble("`value` must be `top`, `bottom`, or a number of pixels")
    shown = on_page(browser, SCROLL, target(step))
    if shown is None:
        raise Trouble(f"no visible element matches {wanted(step)}")
    browser.settle()
    return shown


def step_extract(browser, step, number):
    return extract(browser, {**step, "what": step.get("what") or "text"})


def step_search(browser, step, number):
    return search(browser, step)


def step_screenshot(browser, step, number):
    return screenshot(browser, {**step, "path": step.get("path") or f"screenshot-{number}.png"})


STEPS = {name.removeprefix("step_"): value for name, value in list(globals().items()) if name.startswith("step_")}


def here(browser):
    """Returns a summary of the current page."""
    shown = browser.evaluate("() => ({url: location.href, title: document.title})")
    shown["status"] = browser.status
    return shown


def told(browser):
    """Returns the notes since the last call. Each note is returned once."""
    notes, browser.notes = browser.notes, []
    done = {"completed": "saved", "canceled": "not saved"}
    for guid, download in list(browser.downloads.items()):
        if download["state"] in done:
            del browser.downloads[guid]
            name = f"{DOWNLOADS}/{download['file']}"
            notes.append(f"a file was downloaded: {name}" if download["state"] == "completed"
                         else f"the download of {download['file']} was not completed")
    return {"notes": notes} if notes else {}


def browse(browser, asked):
    """Runs the steps in order. The first failed step ends the call. The results of the steps before it are kept."""
    results = []
    for number, step in enumerate(asked["steps"], 1):
        name = step["action"]
        if browser.deadline - time.monotonic() < STEP_RESERVE_SECONDS:
            error = (
                f"step {number} ({name}) was not run: the time limit of the call was reached. The page stays open: "
                "continue in another call"
            )
            return {"error": error, "page": here(browser), "steps": results}
        try:
            browser.tab.failure = None
            shown = STEPS[name](browser, step, number)
        except Gone as gone:
            return {"error": f"step {number} ({name}) failed: {gone}", "steps": results}
        except Trouble as trouble:
            return {"error": f"step {number} ({name}) failed: {trouble}", "page": seen(browser), "steps": results}
        results.append({"step": number, "action": name, **shown, **told(browser)})
    return {"steps": results, "page": here(browser)}


def seen(browser):
    """Returns the visible content of the page, so that the model can find another way."""
    browser.allow(STEP_RESERVE_SECONDS)
    try:
        shown = here(browser)
        shown.update(told(browser))
        text = browser.evaluate("() => document.body ? document.body.innerText.trim() : ''")
        shown["text"] = text if len(text) <= MAX_SHOWN_TEXT else text[:MAX_SHOWN_TEXT] + "…"
        shown["fields"] = ask(browser, FORMS)[:40]
        shown["controls"] = on_page(browser, CONTROLS, None)
    except Trouble as trouble:
        return {"problem": str(trouble)}
    return shown
