import { lookup } from 'node:dns/promises';
import { expirySeverity, type Life, type Thresholds } from '../../lambdas/audit/rules/thresholds.ts';
import { regionOfEksEndpoint } from '../../lambdas/aws/eks-endpoint.ts';
import { EXPIRED_CLIENT } from '../../lambdas/kubernetes/answer.ts';
import { parseCaBundle } from '../../lambdas/kubernetes/ca-bundle.ts';
import type { KubernetesClient } from '../../lambdas/kubernetes/client.ts';
import { type Connection, hostOf } from '../../lambdas/kubernetes/connection.ts';
import { CERTIFICATE_KINDS, KubernetesError } from '../../lambdas/kubernetes/errors.ts';
import { OLD_CERTIFICATE } from '../../lambdas/kubernetes/expired-server.ts';
import { type Identity, mayI, reviewSelf } from '../../lambdas/kubernetes/self-review.ts';
import { describeSkew, SKEW_REMEDY } from '../../lambdas/kubernetes/server-clock.ts';
import { addressRanges } from '../../lambdas/names.ts';
import { DAY_MS } from '../../lambdas/time.ts';
import { systemErrorWords } from '../system-error.ts';
import { dayOf } from '../terminal/words.ts';
import { type Answer, type Check, either, type Fix, failed, passed, untold, warning } from './check.ts';
import { type Probe, probeServer } from './probe.ts';

export interface Server {
  /** Set by the first check of the group. */
  connection?: Connection;
  client?: KubernetesClient;
  /** Set by the check `authentication`; absent also if the API server is too old to report it. */
  identity?: Identity;
  probe?: Probe;
  /** Set by the check `resolve`: an address to which its name resolves here. */
  address?: string;
}

/** The network from which the functions reach an API server. */
export interface SweptFrom {
  readonly lane: string;
  /** Absent outside every VPC. */
  readonly vpcId?: string | undefined;
}

export interface ServerCheckOptions {
  /** Id of the check that sets connection and client. */
  readonly after: string;
  /** Host and port for the table; the connection may still be unknown. */
  readonly object: string;
  readonly renew: Fix;
  /** The meaning of a 401. @default the kubeconfig must be renewed */
  readonly refused?: (error: KubernetesError) => Answer;
  /** @default from here, or from a network where its name may resolve differently */
  readonly sweptFrom?: SweptFrom | undefined;
  /** When an audit has a finding about its certificate. */
  readonly thresholds: Thresholds;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Not routed outside their own network (RFC 1918, RFC 6598, RFC 4193). */
const PRIVATE = addressRanges(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']);

/** Leaves time to rotate the CA before anything fails. */
const CA_WARNING_DAYS = 30;

/** Checks that an API server is reachable, is the right one, and authenticates us. */
export function serverChecks(
  server: Server,
  {
    after,
    object,
    renew,
    // An expired kubeconfig of an administrator makes no new credentials.
    refused = ({ code, problem, remedy }) => failed(problem, code === EXPIRED_CLIENT ? { text: remedy } : renew),
    sweptFrom,
    thresholds,
    now,
  }: ServerCheckOptions,
): Check[] {
  const host = () => hostOf(new URL(known(server.connection).server));
  const fromHere = (answer: Answer): Answer =>
    answer.status === 'failed' && sweptFrom?.vpcId !== undefined ? untriedHere(answer.found, sweptFrom) : answer;
  return [
    {
      id: 'resolve',
      title: 'name resolves',
      object,
      needs: [after],
      async run() {
        try {
          const { address } = await lookup(host());
          server.address = address;
          return passed(address);
        } catch (error) {
          return fromHere(
            failed(`${host()} cannot be resolved: ${systemErrorWords(error)}`, {
              ...renew,
              text: `Fix the name in DNS, or run this where it resolves. If the API server has another name now: ${renew.text}`,
            }),
          );
        }
      },
    },
    ...(sweptFrom === undefined || sweptFrom.vpcId !== undefined
      ? []
      : [
          {
            id: 'lane',
            title: 'a lane leads to it',
            object,
            needs: ['resolve'],
            run: async () => laneAnswer(known(server.address), sweptFrom),
          },
        ]),
    {
      id: 'connect',
      title: 'server answers',
      object,
      needs: ['resolve'],
      async run(signal) {
        const probe = await probeServer(known(server.connection), now, signal);
        server.probe = probe;
        return fromHere(connectAnswer(probe, renew));
      },
    },
    {
      id: 'ca-bundle',
      title: 'CA bundle is valid',
      object,
      needs: [after],
      run: async () => bundleAnswer(known(server.connection).caPem, renew, now()),
    },
    {
      id: 'certificate',
      title: 'certificate is trusted',
      object,
      needs: ['connect', 'ca-bundle'],
      run: async () => {
        const isEks = regionOfEksEndpoint(known(server.connection).server) !== undefined;
        const severity = (life: Life) =>
          expirySeverity(life, isEks ? 'eks-api-server' : 'kube-apiserver', thresholds, now());
        return certificateAnswer(known(server.probe), renew, severity);
      },
    },
    {
      id: 'clock',
      title: 'clocks agree',
      object,
      needs: ['certificate'],
      run: async () => clockAnswer(known(server.probe)),
    },
    {
      id: 'authentication',
      title: 'credentials are accepted',
      object,
      needs: ['certificate'],
      async run(signal) {
        const client = known(server.client);
        try {
          server.identity = await reviewSelf(client, signal);
          return passed(`authenticated as ${server.identity.username}`);
        } catch (error) {
          if (!(error instanceof KubernetesError)) throw error;
          if (error.kind === 'unauthorized') return refused(error);
          if (error.kind !== 'not-found') throw error;
          // Kubernetes before 1.28 does not report our identity; any review shows whether it authenticates us.
          await mayI(client, { verb: 'list', group: '', resource: 'nodes' }, signal);
          return passed('accepted');
        }
      },
    },
  ];
}

/** A value that an earlier check sets; `needs` guarantees that it ran. */
export function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a check ran before the one that it needs');
  return value;
}

/** Unreachable from this network does not mean unreachable from the lane. */
function untriedHere(problem: string, { lane, vpcId }: SweptFrom): Answer {
  return untold(`cannot be tried from here: ${problem}`, {
    text: `Only lane ${lane} in ${vpcId} has to reach it; the report page says whether it does. To try the later checks, run doctor in that VPC.`,
  });
}

function laneAnswer(address: string, { lane }: SweptFrom): Answer {
  if (!PRIVATE.has(address)) return passed(`lane ${lane}, outside of every VPC`);
  return failed(`${address} is a private address, and lane ${lane} is outside of every VPC`, {
    text: 'In fleet.yaml, add to lanes one in a VPC with a route there, set it as lane of the cluster, and deploy.',
  });
}

function connectAnswer(probe: Probe, renew: Fix): Answer {
  if (probe.answered) return passed('answers');
  const elsewhere = `If the API server is elsewhere now: ${renew.text}`;
  if (probe.timedOut)
    return failed('no answer in 10 s', {
      ...renew,
      text: `Make it reachable from here: routes, security groups, firewalls. ${elsewhere}`,
    });
  const { kind, problem, remedy } = probe.error;
  if (CERTIFICATE_KINDS.has(kind) || kind === 'unauthorized') return passed('answers');
  return failed(problem, { ...renew, text: `${remedy} ${elsewhere}` });
}

function bundleAnswer(caPem: string | undefined, renew: Fix, now: number): Answer {
  if (caPem === undefined) return passed('none given: public CAs are trusted');
  const ends = parseCaBundle(caPem).map(({ validToDate }) => validToDate.getTime());
  const last = Math.max(...ends);
  if (last <= now) return failed(`expired on ${dayOf(last)}`, renew);
  const found = `${ends.length === 1 ? 'valid' : `${ends.length} certificates, valid`} until ${dayOf(last)}`;
  return last - now > CA_WARNING_DAYS * DAY_MS
    ? passed(found)
    : warning(found, { text: 'Rotate the CA of the cluster in time, then put its new bundle where the old one is.' });
}

function certificateAnswer(
  probe: Probe,
  renew: Fix,
  severityOf: (life: Life) => 'critical' | 'warning' | undefined,
): Answer {
  if (!probe.answered) {
    if (probe.timedOut || !CERTIFICATE_KINDS.has(probe.error.kind))
      return passed('the server asks for a client certificate');
    const { code = '', problem, remedy } = probe.error;
    return failed(problem, EXPIRED.has(code) ? { text: remedy } : either(remedy, renew));
  }
  if (probe.recovering !== undefined)
    return warning(`expired on ${dayOf(probe.recovering.notAfter)}, and tolerated`, RENEW_CERTIFICATE);
  if (probe.certificate === undefined) return passed('trusted');
  const [notBefore, notAfter] = [probe.certificate.validFromDate.getTime(), probe.certificate.validToDate.getTime()];
  const found = `trusted, valid until ${dayOf(notAfter)}`;
  const severity = severityOf({ notBefore, notAfter });
  return severity === undefined ? passed(found) : warning(`${found}: ${severity} in an audit`, RENEW_CERTIFICATE);
}

/** No credentials help. */
const EXPIRED: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', OLD_CERTIFICATE]);

const RENEW_CERTIFICATE: Fix = {
  text: 'Renew the serving certificate of the API server, for example: kubeadm certs renew apiserver',
};

function clockAnswer(probe: Probe): Answer {
  const skew = describeSkew(probe.answered ? probe.clock : undefined);
  if (skew !== undefined) return failed(skew, CLOCK_FIX);
  return passed(probe.answered && probe.clock !== undefined ? 'to the minute' : 'the server does not tell its time');
}

const CLOCK_FIX: Fix = {
  text: `${SKEW_REMEDY} Where it is wrong:`,
  command: 'sudo timedatectl set-ntp true',
};
