import { describe, expect, it } from 'vitest';
import type { TopicMessage } from '../../../lambdas/aws/topics.ts';
import { DEFAULT_MONITORING } from '../../../lambdas/config/fleet.ts';
import { type BusEvent, parseNotificationState } from '../../../lambdas/contracts/notification-state.ts';
import { createNotifyHandler } from '../../../lambdas/functions/handle-notify.ts';
import { createLogger, createMetrics } from '../../../lambdas/telemetry/telemetry.ts';
import {
  at,
  auditSummary,
  DAY,
  expiryFinding,
  index,
  indexed,
  MINUTE,
  NOW,
  PARIS,
  registered,
  registry,
} from '../fleet/values.ts';
import { writtenByEachTest } from '../telemetry/capture-stdout.ts';
import { awsError, type MemoryObjects, memoryObjects } from './memory-objects.ts';

const alarmed = (name: string, state: string, minutes = 0) => ({
  Records: [
    {
      EventSource: 'aws:sns',
      Sns: {
        Message: JSON.stringify({
          AlarmName: `certmarshal-${name}`,
          NewStateValue: state,
          NewStateReason: 'Threshold Crossed',
          StateChangeTime: at(minutes * MINUTE).replace('Z', '+0000'),
        }),
      },
    },
  ],
});
const UNREADABLE = alarmed('cluster-unreadable', 'ALARM');

/** Paris was readable an hour ago, and is not since; or is. */
const stateOf = (readable: boolean) =>
  memoryObjects({
    'registry.json.gz': registry(registered('paris', { target: PARIS, foundAt: at(-DAY) })),
    'fleet-index.json.gz': index(indexed('paris', readable ? {} : { readable: false, readableAt: at(-60 * MINUTE) })),
  });

describe('createNotifyHandler', () => {
  const output = writtenByEachTest();

  function notifier(state: MemoryObjects, changed: { now?: number; link?: () => Promise<string> } = {}) {
    const sent: (TopicMessage & { severity: string })[] = [];
    const events: BusEvent[] = [];
    const [paged, chatted]: [unknown[], unknown[]] = [[], []];
    const failures = {
      publish: false,
      critical: false,
      warning: false,
      /** All, or what opens or closes. */
      pager: false as boolean | 'ALARM' | 'OK',
      chat: false,
      /** What of the chat alone is refused. */
      thread: '',
      events: 0,
      kind: 'unavailable' as 'unavailable' | 'denied',
    };
    const metrics = createMetrics('notify');
    let now = changed.now ?? NOW;
    const notify = createNotifyHandler({
      state,
      monitoring: { ...DEFAULT_MONITORING, auditEveryMinutes: 15 },
      publish: async (topic, message) => {
        if (topic === 'pager' || topic === 'chat') {
          const document = JSON.parse(JSON.parse(message.message).https);
          if (failures[topic] === true || failures[topic] === document.NewStateValue)
            throw awsError('denied', `sns:Publish to ${topic}`);
          if (document.metadata?.threadId === failures.thread) throw awsError('denied', 'sns:Publish to chat');
          (topic === 'pager' ? paged : chatted).push(document);
          return;
        }
        if (failures.publish || failures[topic]) throw awsError('unavailable', `sns:Publish to ${topic}`);
        sent.push({ severity: topic, ...message });
      },
      place: { partition: 'aws', region: 'eu-central-1', account: '111122223333' },
      putEvents: async (all) => {
        const unsent = all.slice(0, failures.events);
        events.push(...all.slice(failures.events));
        return unsent.length === 0 ? { unsent } : { unsent, error: awsError(failures.kind, 'events:PutEvents') };
      },
      link: changed.link,
      clock: () => now,
      random: () => 0,
      wait: async () => undefined,
      logger: createLogger('notify'),
      metrics,
    });
    return {
      sent,
      events,
      paged,
      chatted,
      failures,
      pass: (minutes: number) => void (now += minutes * MINUTE),
      subjects: () => sent.map(({ severity, subject }) => `${severity} ${subject}`),
      handle: async (event: unknown) => {
        await notify(event, new AbortController().signal);
        metrics.publishStoredMetrics();
      },
    };
  }
  const toldIn = (state: MemoryObjects) => parseNotificationState(state.objects.get('told.json')?.value, NOW + DAY);
  const OPEN = [expect.stringMatching(/^critical \[critical\] paris, since /)];

  it('tells of a cluster, on the topic of the severity, and tells EventBridge', async () => {
    const state = stateOf(false);
    const one = notifier(state, { link: async () => 'https://link' });
    await one.handle(UNREADABLE);
    expect(one.subjects()).toEqual(OPEN);
    expect(one.sent[0]?.message).toContain('Report: https://link');
    expect(one.events).toMatchObject([
      { detailType: 'certmarshal alarm opened', detail: { alarm: 'ClusterUnreadable', cluster: 'paris' } },
    ]);
    expect(Object.keys(toldIn(state)?.open.ClusterUnreadable ?? {})).toEqual(['paris']);
    expect(output.records().flatMap(({ metrics }) => Object.entries(metrics))).toContainEqual(['Notified', [1]]);
  });

  it('tells once what comes twice, and the end of it', async () => {
    const state = stateOf(false);
    const one = notifier(state);
    await one.handle(UNREADABLE);
    await one.handle(UNREADABLE);
    expect(one.sent).toHaveLength(1);
    for (const [key, object] of stateOf(true).objects) state.objects.set(key, object);
    await one.handle(alarmed('cluster-unreadable', 'OK', 5));
    expect(one.sent).toHaveLength(1);
    const later = notifier(state, { now: NOW + 15 * MINUTE });
    await later.handle({ look: true });
    await later.handle({ look: true });
    one.sent.push(...later.sent);
    one.events.push(...later.events);
    expect(one.sent).toHaveLength(2);
    expect(one.sent[1]?.subject).toMatch(/^\[resolved] paris, /);
    expect(one.events[1]).toMatchObject({ detailType: 'certmarshal alarm closed' });
    expect(toldIn(state)?.open.ClusterUnreadable ?? {}).toEqual({});
  });

  it.each(['registry.json.gz', 'fleet-index.json.gz'])(
    'tells from the alarm alone when %s cannot be read',
    async (key) => {
      for (const spoil of [
        (state: MemoryObjects) => void state.broken.add(key),
        (state: MemoryObjects) => void state.objects.delete(key),
        (state: MemoryObjects) => void state.objects.set(key, { value: 'nonsense', etag: '"x"' }),
      ]) {
        const state = stateOf(false);
        spoil(state);
        const one = notifier(state);
        await one.handle(UNREADABLE);
        expect(one.sent).toHaveLength(1);
        expect(one.sent[0]?.message).toContain('the state of the fleet cannot be read');
      }
    },
  );

  it('tells all the same when what was told cannot be read, and does not write over it', async () => {
    const state = stateOf(false);
    state.broken.add('told.json');
    const one = notifier(state);
    await one.handle(UNREADABLE);
    expect(one.subjects()).toEqual(OPEN);
    expect(state.objects.has('told.json')).toBe(false);
  });

  it('writes anew what is damaged', async () => {
    const state = stateOf(false);
    state.objects.set('told.json', { value: { version: 9 }, etag: '"x"' });
    const one = notifier(state);
    await one.handle(UNREADABLE);
    expect(one.sent).toHaveLength(1);
    expect(toldIn(state)).toBeDefined();
  });

  it('remembers nothing that people were not told', async () => {
    const state = stateOf(false);
    const one = notifier(state);
    one.failures.publish = true;
    await expect(one.handle(UNREADABLE)).rejects.toThrow('sns:Publish');
    expect(toldIn(state)?.open.ClusterUnreadable ?? {}).toEqual({});
    expect(one.events).toEqual([]);
    one.failures.publish = false;
    await one.handle(UNREADABLE);
    expect(one.subjects()).toEqual(OPEN);
  });

  it.each(['critical', 'warning'] as const)(
    'tells one topic what is its own while the topic %s refuses, and that one later, each once',
    async (topic) => {
      const state = stateOf(true);
      const put = (...classes: readonly string[]) => {
        const findings = classes.flatMap((what) =>
          (['critical', 'warning'] as const).map((severity) =>
            expiryFinding({ severity, what: what as never, message: `${severity} ${what}` }),
          ),
        );
        const audit = auditSummary({ auditedAt: at(), findings, findingCount: findings.length, ends: [] });
        state.objects.set('fleet-index.json.gz', { value: index(indexed('paris', { audit })), etag: '"i"' });
      };
      put('user-kubeconfig');
      const one = notifier(state);
      await one.handle(alarmed('certificate-critical', 'ALARM'));
      await one.handle(alarmed('certificate-warning', 'ALARM'));
      expect(one.sent).toHaveLength(2);
      put('user-kubeconfig', 'etcd-ca');
      one.failures[topic] = true;
      for (let turn = 0; turn < 2; turn += 1) {
        one.pass(5);
        await expect(one.handle({ look: true })).rejects.toThrow(`sns:Publish to ${topic}`);
      }
      expect(one.sent.slice(2).map(({ severity }) => severity)).toEqual([
        topic === 'critical' ? 'warning' : 'critical',
      ]);
      one.failures[topic] = false;
      one.pass(5);
      await one.handle({ look: true });
      await one.handle({ look: true });
      expect(
        one.sent
          .slice(2)
          .map(({ severity }) => severity)
          .toSorted(),
      ).toEqual(['critical', 'warning']);
      expect(one.events).toHaveLength(4);
    },
  );

  it('sends the pager what it refused before, also while the topic for people refuses', async () => {
    const state = stateOf(false);
    const one = notifier(state);
    one.failures.pager = true;
    await expect(one.handle(UNREADABLE)).rejects.toThrow('sns:Publish to pager');
    one.failures.pager = false;
    one.failures.warning = true;
    one.pass(5);
    await expect(one.handle({ digest: true })).rejects.toThrow('sns:Publish to warning');
    expect(one.paged).toHaveLength(1);
  });

  it('keeps what another writer remembered meanwhile', async () => {
    const state = stateOf(false);
    const one = notifier(state);
    state.before = () => {
      const theirs = {
        version: 1,
        open: { SweepTimeout: { orders: { openedAt: at(), story: 'x' } } },
        changes: {},
        unsent: [],
      };
      state.objects.set('told.json', { value: theirs, etag: '"theirs"' });
    };
    await one.handle(UNREADABLE);
    expect(one.sent).toHaveLength(1);
    expect(Object.keys(toldIn(state)?.open ?? {}).toSorted()).toEqual(['ClusterUnreadable', 'SweepTimeout']);
  });

  it('does not fail, and so does not tell again, when it cannot write', async () => {
    const state = stateOf(false);
    state.put = async () => {
      throw awsError('denied');
    };
    const one = notifier(state);
    await one.handle(UNREADABLE);
    expect(one.sent).toHaveLength(1);
    expect(output.text()).toContain('not remembered what was told');
  });

  it('fails when EventBridge does, and the next look sends it without telling people twice', async () => {
    const state = stateOf(false);
    const one = notifier(state);
    one.failures.events = 1;
    await expect(one.handle(UNREADABLE)).rejects.toThrow('events:PutEvents');
    expect(one.sent).toHaveLength(1);
    expect(toldIn(state)?.unsent).toHaveLength(1);
    one.failures.events = 0;
    await one.handle(UNREADABLE);
    // Somebody may be sending it right now.
    expect(one.events).toEqual([]);
    one.pass(5);
    await one.handle({ look: true });
    expect(one.sent).toHaveLength(1);
    expect(one.events).toMatchObject([{ detail: { cluster: 'paris' } }]);
    expect(toldIn(state)?.unsent).toEqual([]);
  });

  it('drops an event that EventBridge refuses for a week, and says so', async () => {
    const state = stateOf(false);
    const one = notifier(state);
    Object.assign(one.failures, { events: 1, kind: 'denied' });
    await expect(one.handle(UNREADABLE)).rejects.toThrow('events:PutEvents');
    one.pass(6 * 24 * 60);
    await one.handle({ look: true });
    expect(toldIn(state)?.unsent).toMatchObject([{ to: ['bus'] }]);
    one.pass(2 * 24 * 60);
    await one.handle({ look: true });
    expect(toldIn(state)?.unsent).toEqual([]);
    expect(output.text()).toContain('events dropped');
  });

  it.each(['pager', 'chat'] as const)(
    'keeps an incident that the topic %s refuses, says so, and sends it once',
    async (topic) => {
      const state = stateOf(false);
      const one = notifier(state);
      one.failures[topic] = true;
      await expect(one.handle(UNREADABLE)).rejects.toThrow(`sns:Publish to ${topic}`);
      expect(one.subjects()).toEqual(OPEN);
      expect(one.events).toHaveLength(1);
      expect(toldIn(state)?.unsent).toMatchObject([{ to: [topic], detail: { cluster: 'paris' } }]);
      expect(output.text()).toContain('events not taken');
      one.pass(20);
      await one.handle({ digest: true }).catch(() => undefined);
      expect(one.sent.at(-1)?.message).toContain(
        `1 message could not be sent to the ${topic} topic, the oldest for 20 minutes`,
      );
      one.failures[topic] = false;
      one.pass(5);
      await one.handle({ look: true });
      await one.handle({ look: true });
      one.pass(5);
      await one.handle({ look: true });
      expect([one.sent.length, one.events.length]).toEqual([2, 2]);
      expect(one.paged).toMatchObject([{ AlarmName: 'ClusterUnreadable paris', NewStateValue: 'ALARM' }]);
      const threads = one.chatted.map((message) => (message as { metadata: { threadId: string } }).metadata.threadId);
      expect(threads.filter((thread) => thread === 'ClusterUnreadable paris')).toHaveLength(1);
      expect(toldIn(state)?.unsent.filter(({ detailType }) => detailType !== 'certmarshal digest')).toEqual([]);
    },
  );

  it('closes no incident that the pager did not open', async () => {
    const state = stateOf(false);
    const one = notifier(state);
    one.failures.pager = true;
    await expect(one.handle(UNREADABLE)).rejects.toThrow('sns:Publish to pager');
    state.objects.set('fleet-index.json.gz', { value: index(indexed('paris')), etag: '"i"' });
    one.pass(5);
    await one.handle({ look: true });
    one.failures.pager = 'ALARM';
    one.pass(20);
    await expect(one.handle({ look: true })).rejects.toThrow('sns:Publish to pager');
    expect(one.paged).toEqual([]);
    one.failures.pager = false;
    one.pass(5);
    await one.handle({ look: true });
    expect(one.paged).toMatchObject([{ NewStateValue: 'ALARM' }, { NewStateValue: 'OK' }]);
    expect(toldIn(state)?.unsent).toEqual([]);
  });

  it('gives a chat ten messages at once, the last of them about all others, and the pager each', async () => {
    const ids = Array.from({ length: 25 }, (_, number) => `c${number}`);
    const state = memoryObjects({
      'registry.json.gz': registry(...ids.map((id) => registered(id, { target: { ...PARIS, id }, foundAt: at(-DAY) }))),
      'fleet-index.json.gz': index(...ids.map((id) => indexed(id, { readable: false, readableAt: at(-60 * MINUTE) }))),
    });
    const one = notifier(state);
    await one.handle(UNREADABLE);
    expect([one.sent.length, one.paged.length, one.chatted.length]).toEqual([1, 25, 10]);
    expect(one.chatted.at(-1)).toMatchObject({
      content: {
        title: '16 more incidents at once: ClusterUnreadable',
        description: expect.stringContaining('[critical]'),
      },
    });
    expect(toldIn(state)?.unsent).toEqual([]);
  });

  it.each(['', 'ClusterUnreadable c0'])(
    'gives a chat the end of an incident after its beginning, of however many, where it refuses: %s',
    async (refused) => {
      const ids = Array.from({ length: 12 }, (_, number) => `c${number}`);
      const unread = { readable: false, readableAt: at(-60 * MINUTE) };
      const indexOf = (changed: object) => index(...ids.map((id) => indexed(id, changed)));
      const state = memoryObjects({
        'registry.json.gz': registry(
          ...ids.map((id) => registered(id, { target: { ...PARIS, id }, foundAt: at(-DAY) })),
        ),
        'fleet-index.json.gz': indexOf(unread),
      });
      const one = notifier(state);
      one.failures.chat = true;
      await expect(one.handle(UNREADABLE)).rejects.toThrow('sns:Publish to chat');
      state.objects.set('fleet-index.json.gz', { value: indexOf({}), etag: '"i"' });
      one.pass(5);
      await one.handle({ look: true });
      one.failures.chat = false;
      one.failures.thread = refused;
      one.pass(20);
      await one.handle({ look: true }).catch(() => undefined);
      one.failures.thread = '';
      const all = one.chatted.map((message) => (message as { content: { title: string } }).content.title);
      // Twelve ends and three beginnings come last, but for the end of which the beginning was refused.
      const [count, sent] = refused === '' ? [12, 10] : [11, 9];
      expect(all.filter((title) => title.startsWith('[resolved]'))).toEqual([]);
      expect([all.length, all.at(-1)]).toEqual([sent, `${count} more incidents at once: ClusterUnreadable`]);
      const text = JSON.stringify(one.chatted.at(-1));
      expect(text.match(/\[resolved]/g)).toHaveLength(count);
      expect(text.match(/\[critical]/g)).toHaveLength(3);
      one.pass(5);
      await one.handle({ look: true });
      expect(toldIn(state)?.unsent).toEqual([]);
      const threads = one.chatted
        .slice(sent)
        .map((message) => (message as { metadata: { threadId: string } }).metadata);
      expect(threads.map(({ threadId }) => threadId)).toEqual(refused === '' ? [] : [refused, refused]);
    },
  );

  it('looks also at what CloudWatch has no reason to tell: another class of certificate, another node', async () => {
    const finding = (what: string, message: string) =>
      expiryFinding({ severity: 'critical', what: what as never, message });
    const verdict = (node: string) =>
      ({
        csr: `csr-${node}`,
        uid: node,
        node,
        verdict: 'leave',
        reason: 'SanNotOwned',
        facts: { cause: 'fault', problem: 'claims all' },
        outcome: 'none',
        at: at(),
        hostile: true,
      }) as const;
    const put = (state: MemoryObjects, classes: readonly string[], nodes: readonly string[]) => {
      const findings = classes.map((what) => finding(what, `${what} has ended`));
      const audit = auditSummary({ auditedAt: at(), findings, findingCount: findings.length, ends: [] });
      const clusters = index(indexed('paris', { audit, verdicts: nodes.map(verdict) }));
      state.objects.set('fleet-index.json.gz', { value: clusters, etag: '"i"' });
    };
    const state = stateOf(true);
    put(state, ['user-kubeconfig'], ['decoy']);
    const one = notifier(state);
    await one.handle(alarmed('certificate-critical', 'ALARM'));
    await one.handle(alarmed('impersonation-attempt', 'ALARM'));
    put(state, ['user-kubeconfig', 'etcd-ca'], ['decoy', 'control-plane-1']);
    await one.handle({ look: true });
    await one.handle({ look: true });
    expect(one.subjects()).toEqual([
      'critical [critical] paris, since 2026-11-20 10:00 UTC: user-kubeconfig has ended',
      expect.stringMatching(/^critical \[critical] paris, .*decoy/),
      'critical [critical] paris, since 2026-11-20 10:00 UTC: etcd CA: etcd-ca has ended',
      'critical [critical] paris, since 2026-11-21 10:00 UTC: control-plane-1: claims all',
    ]);
    expect(one.events.map(({ detail }) => 'part' in detail && detail.part)).toEqual([
      'user-kubeconfig',
      'decoy',
      'etcd-ca',
      'control-plane-1',
    ]);
  });

  it.each(['told.json', 'fleet-index.json.gz'])('takes no end for told that %s hides', async (key) => {
    const state = stateOf(false);
    const one = notifier(state);
    await one.handle(UNREADABLE);
    state.broken.add(key);
    await expect(one.handle(alarmed('cluster-unreadable', 'OK', 5))).rejects.toThrow('cannot be used yet');
    await one.handle({ look: true });
    expect(one.sent).toHaveLength(1);
  });

  it.each([{}, { version: 99 }, 'garbage', undefined])(
    'rebuilds told.json that is %j, says so once, and closes nothing',
    async (value) => {
      const state = stateOf(true);
      state.objects.set('told.json', { value, etag: '"t"' });
      const one = notifier(state);
      await one.handle(alarmed('cluster-unreadable', 'OK', 5));
      await one.handle({ look: true });
      expect(one.sent).toEqual([]);
      expect(toldIn(state)).toMatchObject({ open: {} });
      expect(output.text().match(/"state rebuilt"/g)).toHaveLength(1);
    },
  );

  it('tells without a link when none can be made', async () => {
    const one = notifier(stateOf(false), {
      link: async () => {
        throw awsError('expired');
      },
    });
    await one.handle(UNREADABLE);
    expect(one.sent[0]?.message).not.toContain('Report:');
  });

  it('sends a digest, well or not, once', async () => {
    const state = stateOf(true);
    const one = notifier(state);
    await one.handle({ digest: true });
    await one.handle({ digest: true });
    expect(one.subjects()).toEqual([expect.stringMatching(/^warning \[digest\] Fleet: \d of 1 cluster/)]);
    expect(one.events).toMatchObject([{ detailType: 'certmarshal digest' }]);
    state.broken.add('fleet-index.json.gz');
    const later = notifier(state, { now: NOW + DAY });
    await later.handle({ digest: true });
    expect(later.subjects()).toEqual([expect.stringContaining('Fleet: unknown')]);
  });

  it('tells of an alarm that it does not know', async () => {
    const one = notifier(stateOf(true));
    await one.handle(alarmed('unheard-of', 'ALARM'));
    expect(one.subjects()).toEqual([expect.stringContaining('critical [critical] alarm certmarshal-unheard-of fires')]);
  });

  it.each([
    undefined,
    {},
    { digest: 'yes' },
    { Records: [{}] },
    { Records: [{ Sns: { Message: 'SENTINEL' } }] },
    { Records: [{ Sns: { Message: '{"AlarmName":"SENTINEL"}' } }] },
  ])('fails for %j, so that it reaches people', async (event) => {
    const one = notifier(stateOf(true));
    await expect(one.handle(event)).rejects.toThrow(/^The (?:event|notification) is n/);
    expect(output.text()).not.toContain('SENTINEL');
  });
});
