/** Hears what is written to stdout and stderr, where Powertools writes logs and metrics, and keeps it from the screen. @returns how to end it */
export function listen(hear: (text: string) => void): () => void {
  const ends = [process.stdout, process.stderr].map((stream) => {
    const write = stream.write.bind(stream);
    stream.write = (piece: string | Uint8Array) => {
      hear(piece.toString());
      return true;
    };
    return () => {
      stream.write = write;
    };
  });
  return () => {
    for (const end of ends) end();
  };
}
