/** A program that submits a job with the key that it is given, and prints its id. */

import { client, shell } from "./service.js";

const [key = ""] = process.argv.slice(2);
console.log((await client().submit({ ...shell("true"), external_id: key }, { idempotencyKey: key })).id);
