/** Markdown as elements. HTML is shown as text, and nothing is loaded from other servers. */

import { type Token, type Tokens, lexer } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { useRef } from "preact/hooks";
import { CodeBlock } from "./code.js";

interface Lexed {
  text: string;
  tokens: Token[];
}

export function Markdown({ text }: { text: string }) {
  const last = useRef<Lexed>({ text: "", tokens: [] });
  last.current = lexAgain(last.current, text);
  return <div class="markdown">{last.current.tokens.map((token, index) => block(token, index))}</div>;
}

/** Lexes a text that has grown. Only its last block may have changed, so earlier tokens are reused. */
export function lexAgain(before: Lexed, text: string): Lexed {
  if (before.text === text) return before;
  const keep = text.startsWith(before.text) ? before.tokens.slice(0, -1) : [];
  const offset = keep.reduce((sum, token) => sum + token.raw.length, 0);
  // Tabs and other line endings change the lengths of tokens. In this case, the whole text is lexed.
  const isExact = keep.map((token) => token.raw).join("") === text.slice(0, offset);
  return { text, tokens: isExact ? [...keep, ...lexer(text.slice(offset))] : [...lexer(text)] };
}

/** The rendered elements by token. Only the last block changes, so other tokens keep their elements. */
const rendered = new WeakMap<Token, VNode | null>();

function block(token: Token, key: number): VNode | null {
  const known = rendered.get(token);
  if (known !== undefined) return known;
  const made = render(token, key);
  rendered.set(token, made);
  return made;
}

function render(token: Token, key: number): VNode | null {
  switch (token.type) {
    case "heading": {
      const Tag = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Tag key={key}>{inline(token.tokens)}</Tag>;
    }
    case "paragraph":
      return <p key={key}>{inline(token.tokens)}</p>;
    case "text":
      return <span key={key}>{token.tokens ? inline(token.tokens) : plain(token.text)}</span>;
    case "code":
      return <CodeBlock key={key} text={token.text} language={languageOf(token as Tokens.Code)} />;
    case "blockquote":
      return <blockquote key={key}>{token.tokens?.map(block)}</blockquote>;
    case "list":
      return list(token as Tokens.List, key);
    case "table":
      return table(token as Tokens.Table, key);
    case "hr":
      return <hr key={key} />;
    case "html":
      return <p key={key}>{token.raw}</p>;
    default:
      return null;
  }
}

function languageOf({ lang }: Tokens.Code): string {
  return lang?.split(/\s/, 1)[0]?.toLowerCase() ?? "";
}

function list(token: Tokens.List, key: number): VNode {
  const items = token.items.map((item, index) => (
    <li key={index}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled />}
      {item.tokens.filter(({ type }) => type !== "checkbox").map(block)}
    </li>
  ));
  return token.ordered ? (
    <ol key={key} start={token.start === "" ? 1 : token.start}>
      {items}
    </ol>
  ) : (
    <ul key={key}>{items}</ul>
  );
}

function table(token: Tokens.Table, key: number): VNode {
  const cells = (row: Tokens.TableCell[], Tag: "td" | "th") =>
    row.map((cell, index) => (
      <Tag key={index} style={cell.align ? { textAlign: cell.align } : {}}>
        {inline(cell.tokens)}
      </Tag>
    ));
  return (
    <div class="scroll" key={key}>
      <table>
        <thead>
          <tr>{cells(token.header, "th")}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ComponentChildren {
  return tokens?.map((token, key) => {
    switch (token.type) {
      case "strong":
        return <strong key={key}>{inline(token.tokens)}</strong>;
      case "em":
        return <em key={key}>{inline(token.tokens)}</em>;
      case "del":
        return <del key={key}>{inline(token.tokens)}</del>;
      case "codespan":
        return <code key={key}>{plain(token.text)}</code>;
      case "br":
        return <br key={key} />;
      case "link":
        return link(token as Tokens.Link, key);
      case "image":
        return `[${(token as Tokens.Image).text || "image"}]`;
      case "text":
        return token.tokens ? inline(token.tokens) : plain(token.text);
      case "escape":
        return plain(token.text);
      default:
        return token.raw;
    }
  });
}

function link(token: Tokens.Link, key: number): ComponentChildren {
  if (!/^(https?:|mailto:)/i.test(token.href)) return token.raw;
  return (
    <a key={key} href={token.href} target="_blank" rel="noreferrer noopener" title={token.href}>
      {inline(token.tokens)}
    </a>
  );
}

const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

/** Reverses the HTML escaping of the lexer, because the text is not inserted as HTML. */
function plain(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}
