// Node.js 18 has Web Crypto in a module alone, not as a global.
import { webcrypto } from 'node:crypto';
import { version } from './generated/version.js';

export const crypto: Crypto = webcrypto;
export const userAgent: string | undefined = `latchkey-client-typescript/${version}`;
