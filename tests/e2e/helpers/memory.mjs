// Searches the memory of a process for texts: every page of every mapping except for mapped files, which can be read as
// files.
//
//   const { hits } = searchMemory(pid, texts);   // [{text, place, excerpt}]; throws if the memory may not be read
//
// A piece of 24 consecutive characters is a hit: the rest of a partly overwritten text counts too.

import fs from 'node:fs';

const pageBytes = 4096;
const chunkBytes = 8 << 20;
const pieceBytes = 24;

export function searchMemory(pid, texts) {
  const pieces = new Map();
  for (const text of texts) {
    for (let offset = 0; offset + pieceBytes <= text.length; offset++) pieces.set(text.slice(offset, offset + pieceBytes), text);
  }
  const hits = new Map();
  let searched = 0;
  for (const { place: address, bytes } of pagesOf(pid)) {
    searched += bytes.length;
    const all = bytes.toString('latin1');
    for (const { 0: run, index } of all.matchAll(/[0-9A-Za-z]{24,}/g)) {
      for (let position = 0; position + pieceBytes <= run.length; position++) {
        const text = pieces.get(run.slice(position, position + pieceBytes));
        if (text === undefined || hits.has(text)) continue;
        const excerpt = all.slice(Math.max(0, index + position - 160), index + position + 120).replace(/[^ -~]/g, '.');
        hits.set(text, { n: texts.indexOf(text), text, place: `${address} + ${(index+position).toString(16)}`, excerpt });
      }
    }
  }
  return { hits: [...hits.values()], searched };
}

function* pagesOf(pid) {
  const memory = fs.openSync(`/proc/${pid}/mem`);
  const pagemap = fs.openSync(`/proc/${pid}/pagemap`);
  try {
    for (const line of fs.readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const parts = /^([0-9a-f]+)-([0-9a-f]+) r\S* \S+ \S+ \d+ *(.*)$/.exec(line);
      if (parts === null || (parts[3].startsWith('/') && !/ rw.p /.test(line))) continue;
      const [begin, end] = [Number.parseInt(parts[1], 16), Number.parseInt(parts[2], 16)];
      for (const [first, rangeEnd] of present(pagemap, begin, end)) {
        const bytes = Buffer.alloc(rangeEnd - first);
        try {
          fs.readSync(memory, bytes, 0, bytes.length, first);
        } catch {
          continue; // the kernel's own: rings, clocks
        }
        yield { place: `${parts[3] || 'anonymous'} ${parts[1]} + ${(first - begin).toString(16)} of ${((end-begin)/1024)} KiB`, bytes };
      }
    }
  } finally {
    fs.closeSync(memory);
    fs.closeSync(pagemap);
  }
}

// The parts of [begin, end) that are present, in memory or swapped out; a mapping may be as large as the address space.
function* present(pagemap, begin, end) {
  const entries = Buffer.alloc(8 * 65536);
  let rangeStart = null;
  for (let page = begin; page < end; page += 65536 * pageBytes) {
    const count = Math.min(65536, (end - page) / pageBytes);
    const bytesRead = fs.readSync(pagemap, entries, 0, 8 * count, page / pageBytes * 8);
    for (let i = 0; i < count; i++) {
      const isPresent = 8 * i + 8 <= bytesRead && (entries[8 * i + 7] & 0xc0) !== 0;
      const offset = page + i * pageBytes;
      if (isPresent && rangeStart === null) rangeStart = offset;
      if (rangeStart !== null && (!isPresent || offset - rangeStart >= chunkBytes)) {
        yield [rangeStart, offset];
        rangeStart = isPresent ? Math.max(rangeStart, offset - pageBytes) : null; // chunks overlap, so that nothing lies between two
      }
    }
  }
  if (rangeStart !== null) yield [rangeStart, end];
}
