import { collectClaims } from '../../../lambdas/approval/claims.ts';
import { type Decision, decide } from '../../../lambdas/approval/decide.ts';
import { gateReason } from '../../../lambdas/approval/decide-approval.ts';
import type { Evidence } from '../../../lambdas/approval/evidence/evidence.ts';
import { collectOpenRequests } from '../../../lambdas/approval/open-requests.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { approvalSubjectOf } from '../../../lambdas/resources/approval-subject.ts';
import type { SigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { BERLIN, csrObject, dns, evidenceFor, ips, machine, NOW, signingRequest } from './fixtures.ts';

/** What a kubelet asks for: what its guest is called, and its addresses. */
export interface Names {
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
}

interface Kubelet {
  names: Names;
  /** What its certificate has; undefined without one. */
  served: Names | undefined;
  waiting: { readonly csr: Stored; readonly names: Names; readonly since: number } | undefined;
  isOff: boolean;
}

interface Stored {
  csr: SigningRequest;
  readonly object: object;
  decidedAt: number | undefined;
}

const HOUR = 60;
/** Minutes that a kubelet waits, that Kubernetes keeps a pending CSR, and a decided one. */
const [WAITS, PENDING, DECIDED] = [15, 24 * HOUR, HOUR];

const covers = (served: Names | undefined, { dnsNames, addresses }: Names): boolean =>
  dnsNames.every((name) => served?.dnsNames.includes(name)) &&
  addresses.every((address) => served?.addresses.includes(address));
const isSame = (a: Names, b: Names): boolean => covers(a, b) && covers(b, a);

/**
 * Nodes of berlin whose kubelets ask as client-go does, Machines that show what was true up to `late` minutes ago, and
 * an approver. One tick is a minute. Source: client-go, `certificate_manager.go`.
 *
 * @param late minutes until the Machine of a node is read anew
 */
export function startFleet(nodes: readonly string[], late: (node: string) => number) {
  const kubelets = new Map<string, Kubelet>();
  const shown = new Map<string, { names: Names; until: number }>();
  const stored: Stored[] = [];
  /** Those with something to do. */
  const busy = new Set<string>(nodes);
  let evidence: Evidence | undefined;
  let minute = 0;
  let serial = 0;

  const now = (): number => NOW + minute * 60_000;
  const kubeletOf = (node: string): Kubelet => {
    const kubelet = kubelets.get(node);
    if (kubelet === undefined) throw new Error(`there is no ${node}`);
    return kubelet;
  };

  function ask(node: string, { dnsNames, addresses }: Names): Stored {
    serial += 1;
    const sans = [...dns(...dnsNames), ...ips(...addresses)];
    const name = `csr-${String(serial).padStart(8, '0')}`;
    const object = csrObject({ name, node, ageSeconds: -minute * 60, request: { sans } });
    const made: Stored = { csr: signingRequest(object), object, decidedAt: undefined };
    stored.push(made);
    return made;
  }

  function run(node: string, kubelet: Kubelet): void {
    const { names, served, waiting } = kubelet;
    if (kubelet.isOff || (waiting === undefined && covers(served, names))) {
      busy.delete(node);
      return;
    }
    if (waiting?.csr.csr.issued === true) {
      kubelet.served = waiting.names;
      kubelet.waiting = undefined;
    } else if (waiting !== undefined) {
      const isOutdated = !isSame(waiting.names, names) && !covers(served, names);
      if (isOutdated || minute - waiting.since >= WAITS) renew(node);
    } else renew(node);
  }

  function renew(node: string): void {
    const kubelet = kubeletOf(node);
    busy.add(node);
    kubelet.waiting = { csr: ask(node, kubelet.names), names: kubelet.names, since: minute };
  }

  function sweep(): readonly Decision[] {
    const claims = collectClaims(now());
    const open = collectOpenRequests();
    for (const { csr, object } of stored) {
      claims.add(csr);
      if (gateReason(csr) === undefined) open.add(csr, approvalSubjectOf(object));
    }
    const judged = open.all().map((request) => ({ ...request, claims: claims.of(request.csr.username) }));
    evidence ??= evidenceFor(BERLIN, {
      machines: [...shown].map(([node, { names }]) =>
        machine(node, { InternalIP: names.addresses, InternalDNS: [node] }),
      ),
    });
    const decisions = [...decide(BERLIN, { open: judged, evidence }, [DEFAULT_POLICY], now())];
    for (const { csr, verdict } of decisions) {
      const one = stored.find(({ csr: { uid } }) => uid === csr.uid);
      if (verdict.verdict !== 'approve' || one === undefined) continue;
      one.csr = { ...one.csr, issued: true, conditions: [{ type: 'Approved', status: 'True', reason: '' }] };
      one.decidedAt = minute;
    }
    return decisions;
  }

  for (const node of nodes) {
    const names: Names = { dnsNames: [node], addresses: [] };
    kubelets.set(node, { names, served: undefined, waiting: undefined, isOff: false });
  }

  return {
    minute: () => minute,
    now,
    namesOf: (node: string) => kubeletOf(node).names,
    isServed: (node: string) => covers(kubeletOf(node).served, kubeletOf(node).names),
    /** From now on it has these; at first its Machine shows them too. */
    set(node: string, names: Names): void {
      const kubelet = kubeletOf(node);
      kubelet.names = names;
      busy.add(node);
      if (shown.has(node)) return;
      evidence = undefined;
      shown.set(node, { names, until: late(node) });
    },
    renew,
    /** Without power a kubelet forgets what it waits for. */
    power(node: string, isOn: boolean): void {
      const kubelet = kubeletOf(node);
      kubelet.isOff = !isOn;
      busy.add(node);
      kubelet.waiting = undefined;
    },
    /** As a thief with the credentials of the node does. */
    ask,
    /**
     * The verdicts of a sweep after a minute, which needs a CSR of the last hour that waits.
     *
     * @param isSwept false while the approver is away
     */
    tick(isSwept = true): readonly Decision[] {
      minute += 1;
      for (const [node, view] of shown) {
        if (view.until > minute) continue;
        const { names } = kubeletOf(node);
        if (names !== view.names) evidence = undefined;
        shown.set(node, { names, until: minute + late(node) });
      }
      for (const node of busy) run(node, kubeletOf(node));
      const isKept = ({ csr: { createdAt = 0 }, decidedAt }: Stored) =>
        decidedAt === undefined ? now() - createdAt < PENDING * 60_000 : minute - decidedAt < DECIDED;
      stored.splice(0, stored.length, ...stored.filter(isKept));
      const waits = ({ csr: { issued, createdAt = 0 } }: Stored) => !issued && now() - createdAt <= HOUR * 60_000;
      return isSwept && stored.some(waits) ? sweep() : [];
    },
  };
}
