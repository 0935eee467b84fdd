// Browsers name themselves, and a field more would need a preflight.
export const crypto: Crypto = globalThis.crypto;
export const userAgent: string | undefined = undefined;
