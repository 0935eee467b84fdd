declare const process: {
  argv: string[];
  env: Record<string, string | undefined>;
  stdin: AsyncIterable<Uint8Array>;
  stdout: { write(text: string): boolean };
};
