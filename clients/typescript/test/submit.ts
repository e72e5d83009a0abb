/** A program that submits a job with the given idempotency key and prints its id. */

import { client, shell } from "./service.js";

const [key = ""] = process.argv.slice(2);
console.log((await client().submit({ ...shell("true"), external_id: key }, { idempotencyKey: key })).id);
