/** A program that uploads a file, downloads it to another path and prints its peak memory in KiB. */

import { client } from "./service.js";

const [from = "", to = ""] = process.argv.slice(2);
const skillet = client();
const reports: number[] = [];
const asset = await skillet.upload(from, { onProgress: ({ sent }) => reports.push(sent) });
await skillet.download(asset, to);
const grows = reports.every((sent, index) => index === 0 || sent > (reports[index - 1] ?? 0));
console.log(
  JSON.stringify({ asset, grows, reports: reports.length, last: reports.at(-1), kib: process.resourceUsage().maxRSS }),
);
