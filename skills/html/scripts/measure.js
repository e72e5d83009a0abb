// Checks the open page for cut text, unreadable text and missing descriptions. Returns a list of findings.
(() => {
  const found = [];
  const say = (kind, text) => { if (found.length < 200) found.push([kind, text]); };
  const parse = (color) => {
    const parts = (color.match(/[\d.]+/g) || []).map(Number);
    return color.startsWith("rgb") ? { r: parts[0], g: parts[1], b: parts[2], a: parts.length > 3 ? parts[3] : 1 } : null;
  };
  const over = (top, low) => {
    const mix = (name) => top[name] * top.a + low[name] * (1 - top.a);
    return { r: mix("r"), g: mix("g"), b: mix("b"), a: 1 };
  };
  const light = (color) => {
    const [r, g, b] = [color.r, color.g, color.b].map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const canvas = matchMedia("(prefers-color-scheme: dark)").matches
    && getComputedStyle(document.documentElement).colorScheme.includes("dark")
    ? { r: 18, g: 18, b: 18, a: 1 } : { r: 255, g: 255, b: 255, a: 1 };
  // Returns the colour behind an element, or null if it is a picture or a gradient.
  const ground = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.backgroundImage !== "none") return null;
      const color = parse(style.backgroundColor);
      if (color && color.a > 0) layers.push(color);
      if (color && color.a === 1) break;
    }
    return layers.reverse().reduce((low, top) => over(top, low), canvas);
  };
  // Returns the colour behind a text of a drawing: that of the shape below it, or of the background of the drawing.
  const below = (element) => {
    const box = element.getBoundingClientRect();
    const stack = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const svg = element.ownerSVGElement;
    for (const one of stack) {
      if (one === element || element.contains(one) || one.tagName === "text" || one.tagName === "tspan") continue;
      if (!svg.contains(one) || one === svg) break;
      const color = parse(getComputedStyle(one).fill);
      if (color && color.a === 1 && getComputedStyle(one).fillOpacity === "1") return color;
    }
    return ground(svg);
  };
  const isShown = (element) => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const isClipped = style.clip !== "auto" || style.clipPath.startsWith("inset(50");
    return style.visibility === "visible" && Number(style.opacity) > 0.05 && box.width > 1 && box.height > 1 && !isClipped;
  };

  const root = document.documentElement;
  // Not innerWidth: telephones zoom out on a page that is too wide.
  const room = root.clientWidth;
  if (root.scrollWidth > room + 1) {
    const wide = [...document.body.querySelectorAll("*")].filter((one) => {
      if (one.getBoundingClientRect().right <= room + 1) return false;
      for (let up = one.parentElement; up && up !== document.body; up = up.parentElement) {
        if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(up).overflowX)) return false;
      }
      return true;
    });
    const name = wide.length ? `<${wide[0].tagName.toLowerCase()}> ${(wide[0].textContent || "").trim().slice(0, 30)}` : "";
    say("error", `it is ${root.scrollWidth - room} pixels too wide: ${name}`);
  }

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || seen.has(element) || ["SCRIPT", "STYLE", "TITLE", "NOSCRIPT", "TEMPLATE"].includes(element.tagName)) continue;
    seen.add(element);
    if (element.closest("title, desc, defs, option") || !isShown(element)) continue;
    const style = getComputedStyle(element);
    const svg = element.ownerSVGElement;
    let size = parseFloat(style.fontSize);
    if (svg) size *= (element.getScreenCTM() || { a: 1 }).a;
    const shown = text.slice(0, 30);
    if (size < 10.5) say(size < 9 ? "error" : "warning", `${JSON.stringify(shown)} is drawn ${size.toFixed(1)} pixels high`);
    const color = parse(svg ? style.fill : style.color);
    const back = svg ? below(element) : ground(element);
    if (color && back) {
      const large = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700);
      const ratio = contrast(over(color, back), back);
      const least = large ? 3 : 4.5;
      if (ratio < least) say("error", `${JSON.stringify(shown)} has a contrast of ${ratio.toFixed(1)}, below ${least}`);
    }
    const cut = element.scrollWidth > element.clientWidth + 2 && ["hidden", "clip"].includes(style.overflowX);
    if (!svg && cut) say("warning", `${JSON.stringify(shown)} is cut off`);
  }

  for (const image of document.images) {
    if (!image.hasAttribute("alt")) say("error", "a picture has no alt");
    if (image.complete && image.naturalWidth === 0) say("error", "a picture cannot be shown");
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (svg.closest("[aria-hidden=true]") || svg.parentElement.closest("svg")) continue;
    if (!svg.getAttribute("aria-label") && !svg.getAttribute("aria-labelledby") && !svg.querySelector(":scope > title")) {
      say("error", "a drawing has no aria-label");
    }
    const box = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const place = text.getBoundingClientRect();
      const isOut = place.left < box.left - 1 || place.right > box.right + 1 || place.top < box.top - 1 || place.bottom > box.bottom + 1;
      if (isOut && text.textContent.trim()) say("error", `${JSON.stringify(text.textContent.trim().slice(0, 30))} is cut at the edge of its drawing`);
    }
  }
  for (const input of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!input.labels?.length && !input.getAttribute("aria-label") && !input.getAttribute("aria-labelledby")) {
      say("error", `a field <${input.tagName.toLowerCase()}> has no label`);
    }
  }
  const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((one) => Number(one.tagName[1]));
  if (headings.filter((one) => one === 1).length !== 1) say("warning", `it has ${headings.filter((one) => one === 1).length} first-level headings`);
  headings.forEach((level, at) => {
    if (at && level > headings[at - 1] + 1) say("warning", `a heading of level ${level} follows one of level ${headings[at - 1]}`);
  });
  if (!root.lang) say("error", "<html> has no lang");
  if (!document.title.trim()) say("error", "it has no title");
  if (!document.querySelector("meta[name=viewport]")) say("error", "it has no viewport");
  const left = document.body.innerText.match(/\{\{|\bNaN\b|\bundefined\b|\[object |\bTODO\b|lorem ipsum|%s/i);
  if (left) say("error", `leftover ${JSON.stringify(left[0])} in the text`);
  return found;
})();
