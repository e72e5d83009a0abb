"""A small MCP server on standard input and output, without a library. It keeps notes in a file."""

import json
import os
import sys

NOTES = os.environ.get("NOTES_FILE", "notes.txt")

TOOLS = [
    {
        "name": "add_note",
        "description": "Adds a note, which is one line.",
        "inputSchema": {
            "type": "object",
            "properties": {"note": {"type": "string", "description": "The note."}},
            "required": ["note"],
            "additionalProperties": False,
        },
    },
    {
        "name": "list_notes",
        "description": "Returns all notes, the oldest first.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    },
]


def call(name, arguments):
    if name == "add_note":
        with open(NOTES, "a", encoding="utf-8") as notes:
            notes.write(" ".join(arguments["note"].split()) + "\n")
        return "noted"
    if name == "list_notes":
        try:
            with open(NOTES, encoding="utf-8") as notes:
                return notes.read()
        except FileNotFoundError:
            return "there are no notes yet"
    raise ValueError(f"there is no tool {name}")


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = call(params["name"], params.get("arguments", {})), False
        except Exception as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "there is no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
