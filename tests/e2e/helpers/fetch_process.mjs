// Runs Node's fetch for its parent process: Node reads NODE_EXTRA_CA_CERTS only at its start.

process.on('message', async ({ id, url, init }) => {
  try {
    const response = await fetch(url, init);
    const text = await response.text();
    process.send({ id, answer: { status: response.status, headers: [...response.headers], text } });
  } catch (error) {
    process.send({ id, error: `${error.message}: ${error.cause?.code ?? ''} ${error.cause?.message ?? ''}` });
  }
});
process.on('disconnect', () => process.exit(0));
