import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createAuthority } from '../control-plane/pki.ts';
import { type DaemonGroup, waitUntilReady } from '../control-plane/processes.ts';
import { startInGroup } from '../control-plane/start.ts';
import { PATIENCE_MS } from '../patience.ts';
import { answersOk, freePorts } from '../support/loopback.ts';
import { pythonTool } from './venv.ts';

/** The one version whose abilities and gaps the rehearsal knows. */
const MINISTACK = { name: 'ministack', version: '1.5.33' } as const;
const PROJECT = resolve(import.meta.dirname, '../..');

/** Installs it, once. @returns the `bin` directory of its environment. @throws ToolError */
export const installMiniStack = (): Promise<string> => pythonTool(MINISTACK);

/** The account of the hub. */
export const ACCOUNT = '123456789012';
/** Another account of the organization: what is there is read by a role. */
export const SPOKE_ACCOUNT = '210987654321';
export const REGION = 'eu-west-1';

/** An emulated AWS on 127.0.0.1 with nothing in it. */
export interface MiniStack {
  /** `https://127.0.0.1:<port>` */
  readonly endpoint: string;
  /** The authority of its certificate, PEM, and the file that holds it. */
  readonly caPem: string;
  readonly caFile: string;
  readonly pid: number;
  readonly logFile: string;
  /** The types of resources that its CloudFormation can make, as it says itself. */
  resourceTypes(): Promise<ReadonlySet<string>>;
  stop(): Promise<void>;
}

export interface MiniStackOptions {
  /** More variables for the emulator; the functions that it runs inherit them. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Starts MiniStack. Two of its switches make it worth more than a store of objects:
 *
 * - `AUTH`: signatures are verified, a function runs as its role, and IAM policies, resource policies and trust policies are
 *   enforced. What a role of the app lacks fails here as it does in AWS.
 * - `USE_SSL`: without TLS the `aws:SecureTransport` statements of the app's own policies refuse everything.
 *
 * What it does otherwise than AWS, beside what `transform` takes out: private DNS names always end in `.ec2.internal`; the input of a schedule
 * keeps `<aws.scheduler.scheduled-time>` as it is; a schedule starts its target, and a state machine its functions, without their roles; CloudFormation ignores lifecycle rules of buckets; metrics in logs (EMF) stay logs; endpoint and CA of an EKS cluster are those of
 * `startEksEndpoints`. With TLS it takes port 443 of 127.0.0.1 too, where it is free and allowed.
 *
 * @throws ToolError when it cannot be installed; StartError when it does not start.
 */
export async function startMiniStack(options: MiniStackOptions = {}): Promise<MiniStack> {
  const bin = await installMiniStack();
  return startInGroup((group) => startIn(group, bin, options), 'certmarshal-aws-');
}

async function startIn(group: DaemonGroup, bin: string, options: MiniStackOptions): Promise<MiniStack> {
  const [port = 0] = await freePorts(1);
  const endpoint = `https://127.0.0.1:${port}`;
  const authority = await createAuthority('certmarshal emulated AWS');
  const serving = await authority.serverCertificate('ministack');
  const file = async (name: string, text: string): Promise<string> => {
    const path = join(group.directory, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const caFile = await file('ca.crt', authority.certPem);
  const variables = {
    // Without it every interface is listened on.
    BIND_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    MINISTACK_HOST: '127.0.0.1',
    MINISTACK_REGION: REGION,
    MINISTACK_ACCOUNT_ID: ACCOUNT,
    AUTH: 'true',
    USE_SSL: '1',
    MINISTACK_SSL_CERT: await file('serving.crt', serving.certPem),
    MINISTACK_SSL_KEY: await file('serving.key', serving.keyPem),
    LAMBDA_EXECUTOR: 'local',
    // Of the functions: the runtime of the project, and trust in this emulator.
    PATH: `${join(PROJECT, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
    NODE_PATH: join(PROJECT, 'node_modules'),
    NODE_EXTRA_CA_CERTS: caFile,
    AWS_EC2_METADATA_DISABLED: 'true',
    ...options.environment,
  };
  // Daemons get no environment of ours; env(1) sets it and becomes the program, so the process id is the emulator's.
  const daemon = group.start('ministack', '/usr/bin/env', [
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    join(bin, 'ministack'),
  ]);
  await waitUntilReady(daemon, () => answersOk(`${endpoint}/_ministack/health`, authority.certPem), PATIENCE_MS);
  return {
    endpoint,
    caPem: authority.certPem,
    caFile,
    pid: daemon.pid,
    logFile: daemon.logFile,
    resourceTypes: () => resourceTypesOf(bin),
    stop: () => group.stop(),
  };
}

async function resourceTypesOf(bin: string): Promise<ReadonlySet<string>> {
  const program =
    'from ministack.services.cloudformation.provisioners import _RESOURCE_HANDLERS as h; print("\\n".join(h))';
  const { stdout } = await promisify(execFile)(join(bin, 'python3'), ['-c', program]);
  return new Set(stdout.split('\n').filter((line) => line.startsWith('AWS::')));
}
