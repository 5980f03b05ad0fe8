import { once } from 'node:events';
import { type Server as HttpServer, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer, type Server } from 'node:net';

/** Lets a server listen, on a free port unless one is given. @returns the port. @throws Error when it cannot */
export async function listening(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not a TCP port');
  return address.port;
}

/** Ends a server of HTTP, and all who are connected to it. */
export async function ended(
  server: Pick<HttpServer, 'close' | 'closeAllConnections'> & NodeJS.EventEmitter,
): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/**
 * Finds TCP ports on 127.0.0.1 that nobody listens on. All are held at once, so they differ; another process may still
 * take one before it is used, so a caller should try again when its server reports a taken address.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(servers.map((server) => listening(server)));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/**
 * True when a GET is answered with 200 within two seconds; anything else is an exception or false.
 *
 * @param ca `false` for a server that made its certificate itself
 */
export async function answersOk(url: string, ca?: string | false, token?: string): Promise<boolean> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    // No agent: a kept connection would outlive the server it was opened to.
    const trust = ca === false ? { rejectUnauthorized: false } : { ca };
    const sent = send(url, { ...(ca === undefined ? {} : trust), headers, agent: false, timeout: 2000 });
    sent
      .once('response', (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      })
      .once('timeout', () => sent.destroy(new Error('timeout')))
      .once('error', reject)
      .end();
  });
}
