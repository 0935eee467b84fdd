// Runs Node's fetch for its parent, which could not set NODE_EXTRA_CA_CERTS for itself any more.

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
