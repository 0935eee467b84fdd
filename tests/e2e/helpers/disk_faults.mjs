// A disk for one store, which can be full or fail, by the library of faults.c (ninja -C BUILD tests/e2e/faults.so): no
// privilege is needed.
//
//   const disk = new Disk(data);
//   const server = await startServer({ data, env: disk.env });
//   disk.set({ fallocate: 'ENOSPC' }); … disk.set();

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { binary, temporaryFolder } from './harness.mjs';

const library = path.join(path.dirname(binary), '../tests/e2e/faults.so');
const mib = 1 << 20;

// Why there are none; false: there are.
export const noFaults = fs.existsSync(library) ? false : `there is no ${library}`;

// See `struct faults` of faults.c. Blocks that the store's file has already are not denied.
export class Disk {
  constructor(data) {
    this.data = data;
    this.file = path.join(temporaryFolder(), 'faults');
    this.set();
    this.env = { LD_PRELOAD: library, LATCHKEY_DISK_FAULTS: this.file };
  }

  // What the disk has given to the store's file, in MiB.
  given() {
    const store = path.join(this.data, 'store.mdb');
    return fs.existsSync(store) ? fs.statSync(store).blocks * 512 / mib : 0;
  }

  set({ fallocate, write, sync, through, free = -1 } = {}) {
    const number = (name) => (name === undefined ? 0 : os.constants.errno[name]);
    const words = Int32Array.of(number(fallocate), Math.floor(this.given()), number(write), number(sync), number(through), free);
    if (!fs.existsSync(this.file)) fs.writeFileSync(this.file, words);
    const fd = fs.openSync(this.file, 'r+');
    fs.writeSync(fd, words);
    fs.closeSync(fd);
  }
}
