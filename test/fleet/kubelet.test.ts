import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSimulatedApi, type SimulatedApi } from './api.ts';
import { json } from './api-response.ts';
import type { Background } from './background.ts';
import { type SteppedClock, steppedClock } from './clock.ts';
import { startCsrCleaner } from './csr-cleaner.ts';
import { HOSTILE_CLAIMS, startFlood } from './hostile.ts';
import type { StoredCsr } from './kube-object.ts';
import { type Kubelet, type KubeletOptions, type SimulatedNode, startKubelet } from './kubelet.ts';
import { seededRandom } from './random.ts';
import { type Signer, startSigner } from './signer.ts';

const START = Date.UTC(2026, 0, 1);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const worker1: SimulatedNode = { name: 'worker-1', dnsNames: ['worker-1'], ipAddresses: ['10.0.0.11'] };
const worker2: SimulatedNode = { name: 'worker-2', dnsNames: ['worker-2'], ipAddresses: ['10.0.0.12'] };

describe('a simulated cluster', () => {
  let clock: SteppedClock;
  let api: SimulatedApi;
  let running: Background[];

  beforeEach(() => {
    clock = steppedClock(START);
    api = createSimulatedApi({
      clock,
      random: seededRandom(1),
      machineVersions: [],
      controlPlanes: false,
      rulesOf: () => [],
    });
    running = [];
  });

  afterEach(async () => {
    await Promise.all(running.map((one) => one.stop()));
  });

  const kubelet = (options: Partial<KubeletOptions> = {}): Kubelet => {
    const started = startKubelet({ api, node: worker1, random: () => 0.5, ...options });
    running.push(started);
    return started;
  };
  const signer = async (): Promise<Signer> => {
    const started = await startSigner({ api });
    running.push(started);
    return started;
  };
  const csrs = (): readonly StoredCsr[] => api.csrs.all();

  /** Whether there is a request after so many milliseconds more. */
  const hasRequests = async (after: number): Promise<boolean> => {
    await clock.advance(after);
    return csrs().length > 0;
  };
  const oneRequest = (): void => {
    running.push(startFlood({ api, node: worker1, count: 1, intervalMs: 0 }));
  };

  /** Decides every request as it arrives. */
  const decide = (type: 'Approved' | 'Denied'): void => {
    const decideOne = (csr: StoredCsr | undefined): void => {
      if (csr === undefined || csr.status.conditions !== undefined) return;
      const { name } = csr.metadata;
      const condition = { type, status: 'True', reason: 'Test', message: '' };
      const answer = api.handle({
        method: 'PUT',
        url: `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}/approval`,
        user: { name: 'admin', groups: ['system:masters'] },
        body: JSON.stringify({ metadata: { name }, status: { conditions: [condition] } }),
      });
      expect(answer.status).toBe(200);
    };
    api.csrs.all().forEach(decideOne);
    api.csrs.watchAll(decideOne);
  };

  describe('kubelet', () => {
    it('gets a certificate for its own names by the signer of the cluster', async () => {
      const { caPem } = await signer();
      decide('Approved');
      const subject = kubelet();
      await clock.advance(SECOND);
      expect(subject.certificate?.subject).toBe('O=system:nodes\nCN=system:node:worker-1');
      expect(subject.certificate?.subjectAltName).toBe('DNS:worker-1, IP Address:10.0.0.11');
      expect(subject.certificate?.verify(new X509Certificate(caPem).publicKey)).toBe(true);
      expect(subject.attempts).toMatchObject([{ outcome: 'issued', askedAt: START }]);
    });

    it('gives up after 15 minutes and asks again with a new key', async () => {
      const { attempts } = kubelet();
      await clock.advance(15 * MINUTE - 1);
      expect(csrs()).toHaveLength(1);
      await clock.advance(1 + 3 * SECOND);
      expect(attempts).toMatchObject([{ outcome: 'timed out', askedAt: START, endedAt: START + 15 * MINUTE }]);
      const [first, second] = csrs();
      expect(second?.spec.request).not.toBe(first?.spec.request);
    });

    it('asks about four times an hour while nobody decides', async () => {
      kubelet();
      await clock.advance(4 * HOUR - MINUTE);
      expect(csrs()).toHaveLength(16);
    });

    it('asks again after 2, 4, 8, 16 seconds, then every 32, when it is denied', async () => {
      decide('Denied');
      const { attempts } = kubelet({ random: () => 0 });
      await clock.advance(2 * MINUTE);
      expect(attempts.map(({ askedAt }) => (askedAt - START) / SECOND)).toEqual([0, 2, 6, 14, 30, 62, 94]);
      expect(new Set(attempts.map(({ outcome }) => outcome))).toEqual(new Set(['denied']));
    });

    it('asks 112.5 times an hour when it is denied', async () => {
      decide('Denied');
      const { attempts } = kubelet();
      await clock.advance(10 * MINUTE);
      const settled = attempts.length;
      await clock.advance(2 * HOUR);
      expect(attempts.length - settled).toBe(225);
    });

    it('asks again at once when its request is deleted or replaced', async () => {
      const { attempts } = kubelet();
      await clock.advance(MINUTE);
      const [csr] = csrs();
      api.csrs.remove(csr!.metadata.name);
      await clock.advance(3 * SECOND);
      expect(attempts).toMatchObject([{ outcome: 'gone', endedAt: START + MINUTE }]);
      expect(csrs()).toHaveLength(1);
    });

    it.each([
      { random: 0, share: 0.7 },
      { random: 0.5, share: 0.8 },
      { random: 0.999, share: 0.9 },
    ])('renews when $share of the life are over', async ({ random, share }) => {
      await signer();
      decide('Approved');
      const { attempts } = kubelet({ random: () => random });
      await clock.advance(360 * DAY);
      const [, renewal] = attempts;
      expect((renewal!.askedAt - START) / (365 * DAY)).toBeCloseTo(share, 2);
      expect(renewal?.outcome).toBe('issued');
    });

    it('asks again when the API server does not take its request', async () => {
      const { attempts } = kubelet({ api: { ...api, handle: () => json(503, '{}') } });
      await clock.advance(3 * SECOND);
      expect(attempts.map(({ outcome }) => outcome)).toEqual(['refused', 'refused']);
    });
  });

  describe('hostile kubelet', () => {
    it.each([
      { kind: 'neighbourAddress', names: 'DNS:worker-1, IP Address:10.0.0.11, IP Address:10.0.0.12' },
      { kind: 'neighbourName', names: 'DNS:worker-1, DNS:worker-2, IP Address:10.0.0.11' },
      { kind: 'apiService', names: 'DNS:worker-1, DNS:kubernetes.default.svc, IP Address:10.0.0.11' },
      { kind: 'wildcard', names: 'DNS:worker-1, DNS:*.cluster.local, IP Address:10.0.0.11' },
    ] as const)('would get $kind if somebody approved it', async ({ kind, names }) => {
      await signer();
      decide('Approved');
      const subject = kubelet({ asksFor: HOSTILE_CLAIMS[kind](worker1, worker2) });
      await clock.advance(SECOND);
      expect(subject.certificate?.subjectAltName).toBe(names);
    });

    it('is failed by the signer for a URI, and tries again', async () => {
      await signer();
      decide('Approved');
      const { attempts } = kubelet({ asksFor: HOSTILE_CLAIMS.uri(worker1) });
      await clock.advance(10 * SECOND);
      expect(attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed']);
      expect(csrs()[0]?.status.conditions?.[1]).toMatchObject({
        type: 'Failed',
        reason: 'SignerValidationFailure',
        message: 'URI subjectAltNames are not allowed',
      });
    });

    it('floods', async () => {
      running.push(startFlood({ api, node: worker1, count: 50, intervalMs: 100 }));
      await clock.advance(2 * SECOND);
      expect(csrs()).toHaveLength(21);
      await clock.advance(HOUR);
      expect(csrs()).toHaveLength(50);
      expect(new Set(csrs().map(({ spec }) => spec.request)).size).toBe(50);
    });
  });

  describe('signer', () => {
    it('signs 20 a second, as upstream does by default', async () => {
      running.push(startFlood({ api, node: worker1, count: 100, intervalMs: 1 }));
      await clock.advance(SECOND);
      decide('Approved');
      await signer();
      await clock.advance(2 * SECOND);
      expect(csrs().filter(({ status }) => status.certificate !== undefined)).toHaveLength(40);
    });
  });

  describe('cleaner', () => {
    it('removes pending requests after a day', async () => {
      running.push(startCsrCleaner(api));
      oneRequest();
      expect(await hasRequests(24 * HOUR)).toBe(true);
      expect(await hasRequests(HOUR)).toBe(false);
    });

    it('removes denied requests after an hour', async () => {
      running.push(startCsrCleaner(api));
      oneRequest();
      decide('Denied');
      expect(await hasRequests(HOUR)).toBe(true);
      expect(await hasRequests(HOUR)).toBe(false);
    });

    it('removes issued requests after an hour', async () => {
      await signer();
      running.push(startCsrCleaner(api));
      oneRequest();
      decide('Approved');
      expect(await hasRequests(HOUR)).toBe(true);
      expect(await hasRequests(HOUR)).toBe(false);
    });

    it('leaves what is approved but never issued', async () => {
      running.push(startCsrCleaner(api));
      oneRequest();
      decide('Approved');
      expect(await hasRequests(30 * DAY)).toBe(true);
    });
  });
});
