// Plays a bot with grammY, an independent client, against the Bot API server of the tests.
//
//   BOT_API_URL=http://127.0.0.1:… BOT_TOKEN=… node check.mjs
//
// The server has three updates: a text, a document with a caption, and a tap on the button of the first message.

import assert from "node:assert/strict";
import { Bot, GrammyError, InlineKeyboard, InputFile } from "grammy";

const apiRoot = process.env.BOT_API_URL;
const bot = new Bot(process.env.BOT_TOKEN, { client: { apiRoot } });

async function refusal(call) {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof GrammyError, String(error));
    return error;
  }
  assert.fail("the call is not refused");
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 1100));

const wrong = new Bot("1:wrong", { client: { apiRoot } });
assert.equal((await refusal(() => wrong.api.getMe())).error_code, 401);

const done = new Promise((resolve, reject) => {
  let document;
  bot.catch(reject);
  bot.on("message:text", async (context) => {
    const keyboard = new InlineKeyboard().text("Yes", "yes");
    const sent = await context.reply("<b>Hello</b> &amp; welcome", {
      parse_mode: "HTML",
      reply_markup: keyboard,
      reply_parameters: { message_id: context.msg.message_id },
    });
    assert.equal(sent.text, "Hello & welcome");
    console.log(`sent ${sent.message_id}`);
    const tooFast = await refusal(() => context.reply("again"));
    assert.equal(tooFast.error_code, 429);
    assert.equal(tooFast.parameters.retry_after, 1);
    await pause();
    const same = { parse_mode: "HTML", reply_markup: keyboard };
    const text = "<b>Hello</b> &amp; welcome";
    const notModified = await refusal(() =>
      context.api.editMessageText(sent.chat.id, sent.message_id, text, same),
    );
    assert.match(notModified.description, /message is not modified/);
    for (const [text, options, description] of [
      ["<b>open", { parse_mode: "HTML" }, /can't parse entities/],
      ["x".repeat(4097), {}, /message is too long/],
      ["x", { reply_markup: new InlineKeyboard().text("x", "x".repeat(65)) }, /BUTTON_DATA_INVALID/],
    ]) {
      await pause();
      const refused = await refusal(() => context.reply(text, options));
      assert.equal(refused.error_code, 400);
      assert.match(refused.description, description);
    }
  });
  bot.on("message:document", async (context) => {
    const file = await context.getFile();
    const response = await fetch(`${apiRoot}/file/bot${bot.token}/${file.file_path}`);
    document = await response.text();
    await pause();
    const copy = new InputFile(new TextEncoder().encode(document.toUpperCase()), "copy.txt");
    await context.replyWithDocument(copy, { caption: context.msg.caption });
  });
  bot.on("callback_query:data", async (context) => {
    await context.answerCallbackQuery({ text: "Thank you" });
    await pause();
    await context.editMessageText("Done");
    resolve({ data: context.callbackQuery.data, document });
  });
});

const polling = bot.start({ drop_pending_updates: false });
const result = await Promise.race([done, polling.then(() => assert.fail("the bot has stopped"))]);
assert.deepEqual(result, { data: "yes", document: "hello" });

// Another poller ends this one.
const other = new Bot(process.env.BOT_TOKEN, { client: { apiRoot } });
const ended = polling.then(
  () => assert.fail("both bots poll"),
  (error) => error,
);
let conflict;
void ended.then((error) => (conflict = error));
while (conflict === undefined) {
  // The first bot may be between two requests.
  await other.api.getUpdates({ timeout: 0 });
  await new Promise((resolve) => setTimeout(resolve, 100));
}
assert.equal(conflict.error_code, 409);
console.log("ok");
