// Serves both provider wires with aimock: a call of look_at, then a text once its result has come. The first line of
// output is the address. Strict mode: a request that is neither of both is an error.
import { LLMock } from "@copilotkit/aimock";

const { LOOK_PATH: path, RESULT_PART: part } = process.env;
const replies = (messages) => messages.filter(({ role }) => role === "assistant").length;
const results = (messages) => messages.filter(({ role }) => role === "tool");
const text = (content) => (typeof content === "string" ? content : JSON.stringify(content));

const mock = new LLMock({ port: 0, strict: true });
mock.addFixtures([
  {
    match: {
      toolName: "look_at",
      predicate: ({ messages }) => replies(messages) === 0 && results(messages).length === 0,
    },
    response: { toolCalls: [{ name: "look_at", arguments: JSON.stringify({ path }) }] },
  },
  {
    match: {
      toolName: "look_at",
      predicate: ({ messages }) =>
        replies(messages) === 1 && results(messages).some(({ content }) => text(content).includes(part)),
    },
    response: { content: "It is grey." },
  },
]);
await mock.start();
console.log(mock.url);
