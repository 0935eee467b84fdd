// Looks for texts in the memory of a process: in every page that it has, whatever the mapping is for, but not in
// mappings of files, which can be read as files.
//
//   const found = searchMemory(pid, texts);   // [{text, where, around}]; throws where it may not be read
//
// A piece of 24 characters in a row is enough to be found: what is left of a text after a part was overwritten counts.

import fs from 'node:fs';

const pageBytes = 4096;
const chunkBytes = 8 << 20;
const pieceBytes = 24;

export function searchMemory(pid, texts) {
  const pieces = new Map();
  for (const text of texts) {
    for (let at = 0; at + pieceBytes <= text.length; at++) pieces.set(text.slice(at, at + pieceBytes), text);
  }
  const found = new Map();
  let searched = 0;
  for (const { where, bytes } of pagesOf(pid)) {
    searched += bytes.length;
    const all = bytes.toString('latin1');
    for (const { 0: run, index } of all.matchAll(/[0-9A-Za-z]{24,}/g)) {
      for (let at = 0; at + pieceBytes <= run.length; at++) {
        const text = pieces.get(run.slice(at, at + pieceBytes));
        if (text === undefined || found.has(text)) continue;
        const around = all.slice(Math.max(0, index + at - 160), index + at + 120).replace(/[^ -~]/g, '.');
        found.set(text, { n: texts.indexOf(text), text, where: `${where} + ${(index+at).toString(16)}`, around });
      }
    }
  }
  return { found: [...found.values()], searched };
}

function* pagesOf(pid) {
  const memory = fs.openSync(`/proc/${pid}/mem`);
  const pagemap = fs.openSync(`/proc/${pid}/pagemap`);
  try {
    for (const line of fs.readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const parts = /^([0-9a-f]+)-([0-9a-f]+) r\S* \S+ \S+ \d+ *(.*)$/.exec(line);
      if (parts === null || (parts[3].startsWith('/') && !/ rw.p /.test(line))) continue;
      const [begin, end] = [Number.parseInt(parts[1], 16), Number.parseInt(parts[2], 16)];
      for (const [from, to] of present(pagemap, begin, end)) {
        const bytes = Buffer.alloc(to - from);
        try {
          fs.readSync(memory, bytes, 0, bytes.length, from);
        } catch {
          continue; // the kernel's own: rings, clocks
        }
        yield { where: `${parts[3] || 'anonymous'} ${parts[1]} + ${(from - begin).toString(16)} of ${((end-begin)/1024)} KiB`, bytes };
      }
    }
  } finally {
    fs.closeSync(memory);
    fs.closeSync(pagemap);
  }
}

// The parts of [begin, end) that are there, in memory or swapped out; a mapping may be as large as the address space.
function* present(pagemap, begin, end) {
  const entries = Buffer.alloc(8 * 65536);
  let from = null;
  for (let page = begin; page < end; page += 65536 * pageBytes) {
    const count = Math.min(65536, (end - page) / pageBytes);
    const got = fs.readSync(pagemap, entries, 0, 8 * count, page / pageBytes * 8);
    for (let i = 0; i < count; i++) {
      const here = 8 * i + 8 <= got && (entries[8 * i + 7] & 0xc0) !== 0;
      const at = page + i * pageBytes;
      if (here && from === null) from = at;
      if (from !== null && (!here || at - from >= chunkBytes)) {
        yield [from, at];
        from = here ? Math.max(from, at - pageBytes) : null; // chunks overlap, so that nothing lies between two
      }
    }
  }
  if (from !== null) yield [from, end];
}
