/** Input files: dropped, pasted or picked. Each file is uploaded immediately. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { client, type Schemas } from "../api.js";
import { bytes } from "../format.js";
import { AssetName } from "../ui/asset_name.js";
import { Icon } from "../ui/icon.js";

export interface InputFile {
  id: number;
  name: string;
  size: number;
  sent: number;
  input?: Schemas["InputRequest"];
  error?: string;
}

let last = 0;

interface FileInputsProps {
  files: Signal<InputFile[]>;
  /** The kinds of files that the skill accepts; null for any kind. */
  kinds: readonly string[] | null;
}

export function FileInputs({ files, kinds }: FileInputsProps) {
  const isOver = useSignal(false);
  const picker = useRef<HTMLInputElement>(null);
  const change = (id: number, changes: Partial<InputFile>) => {
    files.value = files.value.map((file) => (file.id === id ? { ...file, ...changes } : file));
  };
  const add = async (file: File) => {
    const id = ++last;
    files.value = [...files.value, { id, name: file.name, size: file.size, sent: 0 }];
    if (!isTaken(file, kinds)) return change(id, { error: `The skill accepts only: ${kinds?.join(", ")}` });
    try {
      const asset = await client.upload(file, { onProgress: ({ sent }) => change(id, { sent }) });
      change(id, { input: { asset_id: asset.id }, sent: file.size });
    } catch (error) {
      change(id, { error: error instanceof Error ? error.message : String(error) });
    }
  };
  const addAll = (list: FileList | null | undefined) => void [...(list ?? [])].forEach((file) => void add(file));
  useEffect(() => {
    const onPaste = (event: ClipboardEvent) => addAll(event.clipboardData?.files);
    document.addEventListener("paste", onPaste);
    return () => document.removeEventListener("paste", onPaste);
  }, []);
  return (
    <div
      class={isOver.value ? "drop is-over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => (isOver.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        isOver.value = false;
        addAll(event.dataTransfer?.files);
      }}
    >
      {files.value.map((file) => (
        <div class="drop-file" key={file.id}>
          <Icon name="file" />
          <span>{file.id < 0 && file.input?.asset_id ? <AssetName id={file.input.asset_id} /> : file.name}</span>
          <span class={file.error ? "field-error" : "fine"}>{file.error ?? (file.size ? bytes(file.size) : "")}</span>
          {!file.input && !file.error && (
            <progress value={file.sent} max={file.size || 1} aria-label={`Upload of ${file.name}`} />
          )}
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${file.name}`}
            onClick={() => (files.value = files.value.filter(({ id }) => id !== file.id))}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <button type="button" class="button small is-quiet" onClick={() => picker.current?.click()}>
        <Icon name="upload" />
        Drop, paste or choose files
      </button>
      <input
        ref={picker}
        type="file"
        multiple
        class="offscreen"
        tabIndex={-1}
        aria-hidden="true"
        onChange={({ currentTarget }) => addAll(currentTarget.files)}
      />
    </div>
  );
}

/** Whether a skill accepts the file according to its type. The service makes the decision. */
function isTaken({ type }: File, kinds: readonly string[] | null): boolean {
  const kind = ["image", "audio", "video"].find((it) => type.startsWith(`${it}/`));
  return kinds === null || kind === undefined || kinds.includes(kind);
}
