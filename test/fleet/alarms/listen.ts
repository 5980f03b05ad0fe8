/** Hears what is written to stdout and stderr, where Powertools writes logs and metrics, and keeps it from the screen. @returns how to end it */
export function listen(hear: (text: string) => void): () => void {
  const streams = [process.stdout, process.stderr];
  const writes = streams.map((stream) => stream.write);
  for (const stream of streams)
    stream.write = (piece: string | Uint8Array) => {
      hear(piece.toString());
      return true;
    };
  return () => {
    for (const [index, stream] of streams.entries()) stream.write = writes[index] ?? stream.write;
  };
}
