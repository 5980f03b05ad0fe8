import { isIP } from 'node:net';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { parseDuration } from '../../../lambdas/config/duration.ts';
import { printable } from '../../../lambdas/printable.ts';
import type { HandshakeTarget } from '../../../lambdas/tls/handshake.ts';
import { handshakes } from '../../../lambdas/tls/handshakes.ts';
import { counted } from '../../../lambdas/words.ts';
import { type Certificate, readable } from '../../../lambdas/x509/certificate.ts';
import { decodeBundle } from '../../../lambdas/x509/certificate-bundle.ts';
import { type Register, withOutput } from '../../command.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { type Io, PROCESS, print, printJsonLines } from '../../io.ts';
import { startProgress } from '../../terminal/progress.ts';
import { readTextFile } from '../../text-file.ts';
import { judgeEndpoint, type ProbedEndpoint } from './judgement.ts';
import { probeLines } from './view.ts';

export interface ProbeOptions {
  /** PEM file of the CAs that may have signed the certificates. */
  readonly ca?: string;
  /** SNI name for every endpoint. */
  readonly sni?: string;
  /** Per endpoint. @default 5s */
  readonly timeout?: string;
  readonly output: 'table' | 'json';
  /** The command that starts this program. */
  readonly program: string;
}

const DEFAULT_TIMEOUT = '5s';
const MAX_TIMEOUT_SECONDS = 600;

export const register: Register = (command, { program: name, interruption, run }) => {
  withOutput(
    command
      .argument('<host:port...>', 'TLS endpoints; an IPv6 address in brackets')
      .option(
        '--ca <file>',
        'PEM file of the CAs that may have signed them; without it no issuer is checked; for an API server: certificate-authority-data of its kubeconfig, base64 -d',
      )
      .option('--sni <name>', 'server name to ask for; default: the host, if it is a name')
      .option('--timeout <duration>', 'longest wait for each endpoint; default: 5s'),
    'table for people, json for programs: one line per endpoint',
  )
    .addHelpText(
      'after',
      `
No certificate is trusted, and nothing is sent after the handshake.

Examples:
  ${name} probe 10.0.1.31:2379 10.0.1.31:2380
  ${name} probe 10.0.1.31:6443 --ca ca.pem --sni kubernetes --output json

Exit status:
  0  done
  1  an endpoint did not show a certificate, or a finding is at least a warning
  2  wrong usage; nothing was done`,
    )
    .action(
      run((endpoints: readonly string[], options: Omit<ProbeOptions, 'program'>) =>
        probeCommand(endpoints, { ...options, program: name }, interruption('what was seen so far is shown'), PROCESS),
      ),
    );
};

/**
 * Shows the certificates and findings of TLS servers. JSON is one line per endpoint, in order.
 *
 * @returns the exit status: 1 if a finding is at least a warning
 * @throws UsageError with all problems of endpoints and options
 */
export async function probeCommand(
  endpoints: readonly string[],
  options: ProbeOptions,
  signal: AbortSignal,
  io: Io,
): Promise<number> {
  const { targets, timeoutMs, authorities } = await readUsage(endpoints, options);
  const progress = startProgress(io.stderr);
  const say = (done: number) => progress.say(`${done} of ${counted(targets.length, 'endpoint')} answered or given up`);
  let done = 0;
  say(done);
  const results = await handshakes(targets, {
    timeoutMs,
    signal,
    addresses: 'local',
    onResult: () => {
      done += 1;
      say(done);
    },
  }).finally(() => progress.done());

  const rules = { authorities, thresholds: DEFAULT_THRESHOLDS, now: io.clock() };
  const probed = targets.flatMap((target, index): readonly ProbedEndpoint[] => {
    const result = results[index];
    if (result === undefined) return [];
    return [judgeEndpoint(endpoints[index] ?? '', target, result, rules)];
  });
  if (options.output === 'json') await printJsonLines(io, probed);
  else print(io, probeLines(probed, rules, options.program));
  const unwell = probed.some(({ findings }) => findings.some(({ severity }) => severity !== 'info'));
  return unwell ? EXIT.incomplete : EXIT.done;
}

interface Usage {
  readonly targets: readonly HandshakeTarget[];
  readonly timeoutMs: number;
  readonly authorities: readonly Certificate[] | undefined;
}

async function readUsage(
  endpoints: readonly string[],
  { ca, sni, timeout = DEFAULT_TIMEOUT }: Omit<ProbeOptions, 'output' | 'program'>,
): Promise<Usage> {
  const problems: string[] = [];
  const targets = endpoints.map(parseEndpoint).flatMap((target) => {
    if (typeof target !== 'string') return [{ ...target, serverName: sni }];
    problems.push(`${target}.`);
    return [];
  });
  if (endpoints.length === 0) problems.push('Name at least one HOST:PORT, for example 10.0.1.31:6443.');
  if (sni !== undefined && !isServerName(sni)) problems.push(`--sni takes a DNS name; got ${printable(sni)}.`);
  const seconds = parseDuration(timeout) ?? 0;
  if (seconds < 1 || seconds > MAX_TIMEOUT_SECONDS)
    problems.push(`--timeout takes a duration from 1s to 10m, for example 5s; got ${printable(timeout)}.`);
  const authorities = ca === undefined ? undefined : await readAuthorities(ca, problems);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return { targets, timeoutMs: seconds * 1000, authorities };
}

async function readAuthorities(file: string, problems: string[]): Promise<readonly Certificate[] | undefined> {
  try {
    const { certificates, problem } = decodeBundle(await readTextFile(file, '--ca', 'latin1'));
    for (const [index, read] of certificates.entries())
      if (!read.ok) problems.push(`--ca ${printable(file)}: certificate ${index + 1}: ${read.problem}.`);
    if (problem !== undefined) problems.push(`--ca ${printable(file)}: ${problem}.`);
    return readable(certificates);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    problems.push(error.message);
    return undefined;
  }
}

const DEFAULT_PORT = 443;
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?$/;

/** Parses an endpoint: `10.0.1.31:6443`, `[::1]:443`, `db.example.com`. A returned string is the problem. */
export function parseEndpoint(text: string): HandshakeTarget | string {
  const quoted = printable(text);
  if (text.includes('://') || text.includes('/'))
    return `${quoted} is not a HOST:PORT: leave out the scheme and the path`;
  const { host, port, bare = false } = split(text);
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535))
    return `${quoted} has no port from 1 to 65535`;
  if (isIP(host) === 0 && !isServerName(host))
    return `${quoted} is not a HOST:PORT, for example 10.0.1.31:6443, [::1]:443`;
  // Without brackets a port is ambiguous: `::1:9111` as a whole is an address, too.
  if (bare && isIP(host) === 6) {
    const whole = isIP(text) === 6 ? `, or [${quoted}] if all of it is the address` : '';
    return `${quoted} needs brackets: write [${printable(host)}]:${port}${whole}`;
  }
  return { host, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

/** Whether SNI can carry it: a DNS name, not an address (RFC 6066 §3). */
function isServerName(text: string): boolean {
  return isIP(text) === 0 && NAME.test(text) && !/^[\d.]+$/.test(text);
}

interface Split {
  readonly host: string;
  readonly port: string | undefined;
  /** The host has a port, but no brackets. */
  readonly bare?: true;
}

function split(text: string): Split {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (bracketed !== null)
    return { host: isIP(bracketed[1] ?? '') === 6 ? (bracketed[1] ?? '') : '', port: bracketed[2] };
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, Math.max(0, colon));
  const port = text.slice(colon + 1);
  // A text that is only valid as a whole address has no port.
  if (colon === -1 || (isIP(text) === 6 && (isIP(host) !== 6 || !/^\d+$/.test(port))))
    return { host: text, port: undefined };
  return { host, port, bare: true };
}
