import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Listens on a socket file and connects whoever comes to the port of 127.0.0.1 that its first line names. Files are shared by
 * network namespaces, ports are not: this is the door into the one that the process runs in.
 */
export async function relayFrom(path: string): Promise<Server> {
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
  return listening(server, () => server.listen(path));
}

/** Listens on a free port of 127.0.0.1 and connects whoever comes to a port behind {@link relayFrom}. */
export async function relayTo(path: string, port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const door = connect({ path, allowHalfOpen: true });
    door.write(`${port}\n`);
    join(client, door);
  });
  return listening(server, () => server.listen(0, '127.0.0.1'));
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

async function listening(server: Server, listen: () => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).once('listening', () => resolve(server));
    listen();
  });
}
