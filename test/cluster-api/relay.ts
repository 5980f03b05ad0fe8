import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listening } from '../support/loopback.ts';

/**
 * Listens on a socket file and connects whoever comes to the port of 127.0.0.1 that its first line names. Files are shared by
 * network namespaces, ports are not: this is the door into the one that the process runs in.
 */
export async function relayFrom(path: string): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, (outside) => {
    outside.on('error', () => outside.destroy());
    let head = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\n');
      if (end < 0) return;
      outside.pause().off('data', onData);
      const inside = connect({ port: Number(head.subarray(0, end)), host: '127.0.0.1', allowHalfOpen: true });
      inside.write(head.subarray(end + 1));
      join(outside, inside);
    };
    outside.on('data', onData);
  });
  await once(server.listen(path), 'listening');
}

/** Listens on a free port of 127.0.0.1 and connects whoever comes to a port behind {@link relayFrom}. */
export async function relayTo(
  path: string,
  port: number,
): Promise<{ readonly port: number; readonly close: () => void }> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const door = connect({ path, allowHalfOpen: true });
    door.write(`${port}\n`);
    join(client, door);
  });
  return { port: await listening(server), close: () => server.close() };
}

function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.setNoDelay(true);
    // What was said before the end has to arrive; after an error nothing has.
    from.on('error', () => to.destroy()).pipe(to);
    from.once('close', () => to.destroySoon());
  }
}
