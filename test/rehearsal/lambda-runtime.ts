import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { HUB_SIZES } from '../../lambdas/hub-sizes.ts';
import { ToolError } from '../control-plane/cache.ts';
import { lambdaNode } from '../support/lambda-node.ts';
import { installOnce, outputOf } from './install-once.ts';

const RIC = { name: 'aws-lambda-ric', version: '4.0.2' } as const;
/** It compiles libcurl and its own client: four minutes on two busy cores. */
const BUILD_TIMEOUT_MS = 15 * 60_000;
const PATH = '/2018-06-01/runtime';
const run = promisify(execFile);

/** Figures of a function in the runtime client of AWS. */
export interface RuntimeFigures {
  /** From the start of the process until it asks for the first event, milliseconds. */
  readonly initMs: number;
  /** From handing an event over to the answer, milliseconds, in the order of the events. */
  readonly durationsMs: readonly number[];
  /** The most memory that the process held, mebibytes. */
  readonly peakMiB: number;
  /** What the handler returned, in the order of the events. */
  readonly answers: readonly unknown[];
  /** What the process wrote. */
  readonly output: string;
}

/** What npm compiles it with. */
const COMPILERS = ['cmake', 'c++'] as const;
const ADVICE = 'install cmake and a C++ compiler (on Debian and Ubuntu: apt-get install cmake g++)';
/** Without a network npm would try for minutes. Milliseconds. */
const NETWORK = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=30000'];

/**
 * Installs `aws-lambda-ric`, the runtime client of AWS for Node.js, into the cache, once.
 *
 * @returns its entry file.
 * @throws ToolError when npm, cmake or a compiler is missing, or the build fails.
 */
export async function runtimeClient(): Promise<string> {
  const { name, version } = RIC;
  const directory = await installOnce(RIC, async (empty) => {
    for (const compiler of COMPILERS)
      await run(compiler, ['--version']).catch((error: unknown) => {
        throw new ToolError(`there is no "${compiler}" on the PATH; ${ADVICE}`, { cause: error });
      });
    const options = ['--no-audit', '--no-fund', '--loglevel=error', ...NETWORK, '--prefix', empty];
    try {
      await run('npm', ['install', ...options, `${name}@${version}`], { timeout: BUILD_TIMEOUT_MS });
    } catch (error) {
      throw new ToolError(`${name} ${version} cannot be built; it needs npm: ${outputOf(error)}`, { cause: error });
    }
  });
  return join(directory, 'node_modules', name, 'index.mjs');
}

/**
 * Runs a bundle in the runtime client of AWS, against a Runtime API of this test, one event after the other, and ends the process.
 *
 * @param entry of {@link runtimeClient}
 * @param bundle path of the `index.mjs`
 * @param environment the variables of the function
 * @throws Error when the function reports an error or ends too early; the message holds what it wrote.
 */
export async function runInRuntime(
  entry: string,
  bundle: string,
  environment: Readonly<Record<string, string>>,
  events: readonly unknown[],
): Promise<RuntimeFigures> {
  const waiting = [...events];
  const durationsMs: number[] = [];
  const answers: unknown[] = [];
  const done = Promise.withResolvers<void>();
  let startedAt = 0;
  let initMs: number | undefined;
  let handedAt = 0;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const { method, url = '' } = request;
    if (method === 'GET' && url === `${PATH}/invocation/next`) {
      initMs ??= performance.now() - startedAt;
      const event = waiting.shift();
      // The last `next` is left without an answer, as when there are no more events; the process is then ended.
      if (event === undefined) return done.resolve();
      handedAt = performance.now();
      response
        .writeHead(200, {
          'content-type': 'application/json',
          'lambda-runtime-aws-request-id': `request-${answers.length + 1}`,
          'lambda-runtime-deadline-ms': String(Date.now() + 60_000),
          'lambda-runtime-invoked-function-arn': 'arn:aws:lambda:eu-west-1:123456789012:function:certmarshal',
        })
        .end(JSON.stringify(event));
    } else if (method === 'POST' && /^\/2018-06-01\/runtime\/invocation\/[^/]+\/response$/.test(url)) {
      durationsMs.push(performance.now() - handedAt);
      answers.push(JSON.parse(body));
      response.writeHead(202).end('{}');
    } else {
      response.writeHead(202).end('{}');
      done.reject(new Error(`${method} ${url}: ${body}`));
    }
  };
  const api = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => done.reject(error));
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- listening on a port, not on a pipe
  const { port } = api.address() as AddressInfo;

  startedAt = performance.now();
  const child = spawn(process.execPath, [...lambdaNode(HUB_SIZES.sweep.memoryMiB), entry], {
    cwd: dirname(bundle),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
      _HANDLER: 'index.handler',
      LAMBDA_TASK_ROOT: dirname(bundle),
      AWS_LAMBDA_FUNCTION_NAME: 'certmarshal',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: `${HUB_SIZES.sweep.memoryMiB}`,
      // The client does not start without these two.
      AWS_LAMBDA_LOG_GROUP_NAME: 'certmarshal',
      AWS_LAMBDA_LOG_STREAM_NAME: 'certmarshal',
      ...environment,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      output += piece;
    });
  const exited = once(child, 'exit');
  exited.then(
    () => done.reject(new Error('the process ended')),
    (error: unknown) => done.reject(error),
  );
  try {
    await done.promise;
    const peakMiB = await peakMemory(child.pid);
    return { initMs: initMs ?? 0, durationsMs, peakMiB, answers, output };
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${output.slice(-4000)}`, {
      cause: error,
    });
  } finally {
    child.kill('SIGKILL');
    await exited.catch(() => undefined);
    api.closeAllConnections();
    api.close();
  }
}

/** `VmHWM`: the high-water mark of the resident set, proc(5). */
async function peakMemory(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
