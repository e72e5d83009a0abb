/** Listings of ZIP and TAR archives, read without extracting files. The archives are untrusted. */

export interface ArchiveEntry {
  name: string;
  /** The size in bytes, if the archive contains it. */
  size: number | undefined;
}

export interface Listing {
  entries: ArchiveEntry[];
  /** Whether the list is complete. */
  isWhole: boolean;
}

/** The maximum number of listed entries. */
const MAX_ENTRIES = 1000;
/** The maximum size of the end of a ZIP archive: a record of 22 bytes and a comment. */
const TAIL_BYTES = 22 + 65_535;
/** The maximum number of bytes read from the directory of a ZIP archive. */
const MAX_DIRECTORY_BYTES = 1024 * 1024;
/** The maximum number of bytes read from a TAR archive, after decompression. */
const MAX_TAR_BYTES = 64 * 1024 * 1024;
/** The maximum size of a record for a long name in a TAR archive. */
const MAX_NAME_BYTES = 64 * 1024;
const BLOCK_BYTES = 512;

/** Reads a part of a file. */
export type ReadRange = (from: number, to: number) => Promise<Uint8Array>;

/** Lists a ZIP archive from the directory at its end. */
export async function listZip(size: number, read: ReadRange): Promise<Listing> {
  const tailAt = Math.max(0, size - TAIL_BYTES);
  const tail = await read(tailAt, size);
  const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
  let end = tail.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error("The file is not a ZIP archive.");
  const [length, from] = [view.getUint32(end + 12, true), view.getUint32(end + 16, true)];
  const to = Math.min(from + length, from + MAX_DIRECTORY_BYTES, size);
  const directory = from >= tailAt ? tail.subarray(from - tailAt, to - tailAt) : await read(from, to);
  const entries = zipEntries(directory);
  return { entries, isWhole: entries.length === view.getUint16(end + 10, true) };
}

function zipEntries(directory: Uint8Array): ArchiveEntry[] {
  const view = new DataView(directory.buffer, directory.byteOffset, directory.byteLength);
  const entries: ArchiveEntry[] = [];
  let at = 0;
  while (entries.length < MAX_ENTRIES && at + 46 <= directory.length && view.getUint32(at, true) === 0x02014b50) {
    const [size, nameLength] = [view.getUint32(at + 24, true), view.getUint16(at + 28, true)];
    const next = at + 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    // The size of a file over 4 GB is in the ZIP64 field, which is not read.
    entries.push({
      name: textOf(directory.subarray(at + 46, at + 46 + nameLength)),
      size: size === 0xffffffff ? undefined : size,
    });
    at = next;
  }
  return entries;
}

/** Lists a TAR archive from the headers between its files. */
export async function listTar(stream: ReadableStream<Uint8Array>): Promise<Listing> {
  const source = bytesOf(stream);
  const entries: ArchiveEntry[] = [];
  /** The name of the next entry, if it does not fit into its header. */
  let longName: string | undefined;
  try {
    for (;;) {
      const header = await source.take(BLOCK_BYTES);
      if (!header || header[0] === 0) return { entries, isWhole: header !== undefined };
      if (textOf(header.subarray(257, 262)) !== "ustar") throw new Error("The file is not a TAR archive.");
      if (entries.length >= MAX_ENTRIES) return { entries, isWhole: false };
      const size = parseInt(textOf(header.subarray(124, 136)), 8) || 0;
      const padded = Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
      const kind = String.fromCharCode(header[156] ?? 0);
      if ((kind === "L" || kind === "x") && size <= MAX_NAME_BYTES) {
        const content = await source.take(padded);
        longName = content && nameOf(kind, content.subarray(0, size));
        continue;
      }
      if (kind !== "g") {
        const [name, prefix] = [textOf(header.subarray(0, 100)), textOf(header.subarray(345, 500))];
        entries.push({ name: longName ?? (prefix ? `${prefix}/${name}` : name), size });
        longName = undefined;
      }
      if (!(await source.skip(padded))) return { entries, isWhole: false };
    }
  } finally {
    source.close();
  }
}

/** Returns the name from a long-name record in GNU (`L`) or POSIX (`x`) format. */
function nameOf(kind: string, content: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(content);
  return kind === "L" ? visible(text.split("\0", 1)[0] ?? "") : visible(/^\d+ path=(.*)$/m.exec(text)?.[1] ?? "");
}

/** Reads the bytes of a stream in order, up to `MAX_TAR_BYTES`. */
function bytesOf(stream: ReadableStream<Uint8Array>) {
  const reader = stream.getReader();
  let buffer: Uint8Array = new Uint8Array();
  let total = 0;
  const fill = async (): Promise<boolean> => {
    const { value, done } = await reader.read();
    if (done || (total += value.length) > MAX_TAR_BYTES) return false;
    const joined = new Uint8Array(buffer.length + value.length);
    joined.set(buffer);
    joined.set(value, buffer.length);
    buffer = joined;
    return true;
  };
  return {
    take: async (count: number): Promise<Uint8Array | undefined> => {
      while (buffer.length < count) if (!(await fill())) return undefined;
      const taken = buffer.subarray(0, count);
      buffer = buffer.subarray(count);
      return taken;
    },
    skip: async (count: number): Promise<boolean> => {
      while (buffer.length < count) {
        count -= buffer.length;
        buffer = new Uint8Array();
        if (!(await fill())) return false;
      }
      buffer = buffer.subarray(count);
      return true;
    },
    close: () => void reader.cancel().catch(() => {}),
  };
}

function textOf(bytes: Uint8Array): string {
  return visible(new TextDecoder().decode(bytes).split("\0", 1)[0] ?? "");
}

/** Replaces control and format characters, which could hide or reorder text. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "\ufffd");
}
