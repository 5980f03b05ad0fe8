import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_ROLLOUTS } from '../../../lambdas/config/fleet.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../../lambdas/rollout/policy.ts';
import { fleet, refuses, refusesIn } from './parsing.ts';

const entry = (text: string) => `version: 1\nrollouts: { clusters: [{ clusters: [a], ${text} }] }`;
const window = (text: string) => entry(`windows: [{ ${text} }]`);
const WEEKLY = "days: [sat], from: '02:00', until: '06:00', timeZone: Europe/Berlin";

describe('rollouts in fleet.yaml', () => {
  it.each(['', '{}', '{ clusters: }', '{ clusters: [] }'])('lets nothing roll by %j', (text) => {
    expect(
      fleet(`version: 1
rollouts: ${text}`).rollouts,
    ).toEqual(DEFAULT_ROLLOUTS);
  });

  it('has the defaults of an entry that only names clusters', () => {
    expect(fleet("version: 1\nrollouts: { clusters: [{ clusters: ['berlin-*'] }] }").rollouts).toEqual({
      atOnce: 1,
      pauseMs: 3_600_000,
      clusters: [{ ...DEFAULT_ROLLOUT_POLICY, clusters: ['berlin-*'] }],
    });
  });

  it('reads every key', () => {
    const { rollouts } = fleet(`version: 1
rollouts:
  atOnce: 2
  pause: 10m
  clusters:
    - clusters: ['berlin-*', munich]
      begin: { days: 60, share: 0.4 }
      stop: 7d
      windows:
        - { ${WEEKLY} }
        - { from: 2026-12-05T20:00:00+01:00, until: 2026-12-06T04:00:00+01:00 }
      etcd: auto-experimental
      accepted: [single-replica, no-surge, spare-capacity, etcd-backup]
    - { clusters: ['*'], begin: 90d, stop: { days: 8 } }`);
    expect(rollouts).toEqual({
      atOnce: 2,
      pauseMs: 600_000,
      clusters: [
        {
          clusters: ['berlin-*', 'munich'],
          begin: { days: 60, share: 0.4 },
          stop: { days: 7, share: DEFAULT_ROLLOUT_POLICY.stop.share },
          windows: [
            { days: ['sat'], from: '02:00', until: '06:00', timeZone: 'Europe/Berlin' },
            { from: '2026-12-05T20:00:00+01:00', until: '2026-12-06T04:00:00+01:00' },
          ],
          etcd: 'auto-experimental',
          accepted: ['single-replica', 'no-surge', 'spare-capacity', 'etcd-backup'],
        },
        {
          ...DEFAULT_ROLLOUT_POLICY,
          clusters: ['*'],
          begin: { days: 90, share: DEFAULT_ROLLOUT_POLICY.begin.share },
          stop: { days: 8, share: DEFAULT_ROLLOUT_POLICY.stop.share },
        },
      ],
    });
  });

  refuses([
    ['version: 1\nrollouts: []', '2:1: rollouts: write a section with keys, not a list'],
    [
      'version: 1\nrollouts: { atOnce: 0 }',
      '2:21: rollouts.atOnce: 0 allows no rollout at all; write a whole number, 1 to 10',
    ],
    [
      'version: 1\nrollouts: { atOnce: 11 }',
      '2:21: rollouts.atOnce: 11 at the same time is too much of a fleet; write a whole number, 1 to 10',
    ],
    ['version: 1\nrollouts: { atOnce: 1.5 }', '2:21: rollouts.atOnce: write a whole number, 1 to 10, not 1.5'],
    [
      'version: 1\nrollouts: { pause: 9m }',
      '2:20: rollouts.pause: 9m is too short to see how the last one went; write 10m or more',
    ],
    [
      'version: 1\nrollouts: { pause: 31d }',
      '2:20: rollouts.pause: 31d is too long to get through a fleet; write 30d or less',
    ],
    ['version: 1\nrollouts: { clusters: [{}] }', '2:24: rollouts.clusters[0].clusters: missing; write a list'],
    [
      "version: 1\nrollouts: { clusters: [{ clusters: ['a', '*'] }, { clusters: [b, a] }] }",
      '2:50: rollouts.clusters[1]: never counts: rollouts.clusters[0] is for "*", and the first one that matches counts; write this one before it',
    ],
    [
      'version: 1\nrollouts: { clusters: [{ clusters: [a] }, { clusters: [b, a] }] }',
      '2:59: rollouts.clusters[1].clusters[1]: "a" is in rollouts.clusters[0] already, and the first one counts; keep one of the two',
    ],
  ]);

  refusesIn(window, 'rollouts.clusters[0].windows[0]', [
    [
      "days: [sat], from: '02:00', until: '06:00'",
      '2:51: .timeZone: missing; write a time zone, for example Europe/Berlin',
    ],
    [
      "from: '02:00', until: '06:00', timeZone: UTC",
      '2:94: .timeZone: only a weekly window has one; write days too, or remove it: a window that is open once has the zone in its times',
    ],
    [
      "from: '02:00', until: 2026-12-06T04:00:00+01:00",
      '2:59: .from: "02:00" is not a time as RFC 3339 writes it; write a date and time with its zone, for example 2026-12-05T20:00:00+01:00',
    ],
    [
      "days: [sat], from: '02:00', until: '24:00', timeZone: UTC",
      '2:88: .until: "24:00" is not the time of a day; write hours and minutes, from 00:00 to 23:59',
    ],
    ['from: 2026-12-06T04:00:00+01:00', '2:51: .until: missing; write when it ends'],
    [
      'from: 2026-12-06T04:00:00+01:00, until: 2026-12-05T20:00:00+01:00',
      '2:93: .until: 2026-12-05T20:00:00+01:00 is not after from, 2026-12-06T04:00:00+01:00; write a later time',
    ],
    [
      "days: [mon, tue, wed, thu, fri, sat, sun], from: '02:00', until: '02:00', timeZone: UTC",
      '2:51: : never ends: it covers every day completely; remove it, because without windows any time is allowed',
    ],
    [
      "days: [sat], from: '02:00', until: '06:00', timeZone: Europe/Berln",
      '2:107: .timeZone: "Europe/Berln" is not a time zone; did you mean "Europe/Berlin"?',
    ],
  ]);

  refusesIn(entry, 'rollouts.clusters[0].', [
    ['ectd: assist', '2:41: ectd: unknown key; did you mean "etcd"?'],
    ['etcd: auto', '2:47: etcd: "auto" is not known here; write one of assist, auto-experimental'],
    ['etcd: true', '2:47: etcd: write one of assist, auto-experimental, not true'],
    ['windows: []', '2:41: windows: an empty list; leave it out for any time, or write a window'],
    ['begin: 301d', '2:48: begin: 301d is almost the whole year that these certificates are valid; write 300d or less'],
    [
      'accepted: [spare-capcity]',
      '2:52: accepted[0]: "spare-capcity" is not known here; did you mean "spare-capacity"?',
    ],
    ['accepted: [no-surge, no-surge]', '2:41: accepted: something appears twice; keep one of the two'],
    ['begin: 45', '2:48: begin: write a whole number and a unit, for example 90s, 15m, 2h or 366d, not 45'],
    ['begin: 1000h', '2:48: begin: 1000h is not a whole number of days; write, for example, 45d'],
    ['stop: 6d', '2:47: stop: 6d is too short to fix what goes wrong; write 7d or more'],
    ['stop: { days: 6 }', '2:55: stop.days: 6 days is too short to fix what goes wrong; write 7d or more'],
    ['begin: { share: 0.3 }', '2:41: begin.days: missing; write a whole number of days'],
    [
      'begin: { days: 45, share: 30 }',
      '2:67: begin.share: write a share of the lifetime above 0 and below 1, for example 0.3, not 30',
    ],
    ['begin: { days: 45, shar: 0.3 }', '2:60: begin.shar: unknown key; did you mean "share"?'],
    [
      'begin: 20d, stop: 20d',
      '2:59: stop: 20 days before expiry is not after begin, 20 days before it; nothing could begin, so write fewer days',
    ],
    [
      'begin: 9d',
      '2:48: begin: 9 days before expiry is not before stop, 10 days before it; nothing could begin, so write more days, or stop too',
    ],
    [
      'stop: { days: 8, share: 0.3 }',
      '2:41: stop: a share of 0.3 is not below that of begin, 0.3; with a short lifetime nothing could begin, so write less',
    ],
    [
      'begin: { days: 45, share: 0.1 }',
      '2:41: begin: a share of 0.1 is not above that of stop, 0.1; with a short lifetime nothing could begin, so write more',
    ],
  ]);
});

const SHA256 = '0f'.repeat(32);
const recovered = (text: string) =>
  `version: 1\nrecovery: [{ cluster: m/eksa-system/c, until: 2026-12-05T20:00:00Z, ${text} }]`;

const NODES = 'nodes: [cp-1, cp-2]';

describe('recovery in fleet.yaml', () => {
  it('names clusters, an end and what the certificate has to prove', () => {
    expect(
      fleet(`version: 1
recovery:
  - { cluster: berlin, until: 2026-12-05T20:00:00+01:00, pin: authority }
  - { cluster: bonn, until: 2026-12-05T20:00:00Z, pin: authority, expiredAtMost: 180d }
  - { cluster: m/eksa-system/c, until: 2026-12-05T20:00:00Z, pin: 'sha256:${SHA256}' }`).recovery,
    ).toEqual([
      { cluster: 'berlin', until: '2026-12-05T20:00:00+01:00', server: { pin: 'authority' } },
      {
        cluster: 'bonn',
        until: '2026-12-05T20:00:00Z',
        server: { pin: 'authority', expiredAtMostMs: 180 * 86_400_000 },
      },
      { cluster: 'm/eksa-system/c', until: '2026-12-05T20:00:00Z', server: { pin: 'fingerprint', sha256: SHA256 } },
    ]);
  });

  it('names nodes, with or without a pin, and the groups of kubeadm if it says nothing', () => {
    const only = (text: string) => fleet(recovered(text)).recovery[0];
    const said = { cluster: 'm/eksa-system/c', until: '2026-12-05T20:00:00Z', nodes: ['cp-1', 'cp-2'] };
    const bootstrapGroups = ['system:bootstrappers:kubeadm:default-node-token'];
    expect(only(NODES)).toEqual({ ...said, bootstrapGroups });
    expect(only(`pin: authority, ${NODES}`)).toEqual({ ...said, bootstrapGroups, server: { pin: 'authority' } });
    expect(only(`${NODES}, bootstrapGroups: []`)).toEqual({ ...said, bootstrapGroups: [] });
    expect(only(`${NODES}, bootstrapGroups: ['system:bootstrappers:x']`)).toMatchObject({
      bootstrapGroups: ['system:bootstrappers:x'],
    });
    const nine = Array.from({ length: 9 }, (_, index) => `cp-${index}`);
    expect(only(`nodes: [${nine.join(', ')}]`)?.nodes).toEqual(nine);
  });

  const PIN = 'write authority, or sha256: and the 64 lowercase hexadecimal digits of the certificate';
  refuses([
    [
      recovered(''),
      '2:12: recovery[0]: does nothing; write pin: authority, or sha256: and the 64 lowercase hexadecimal digits of the certificate; or nodes, or both',
    ],
    [
      "version: 1\nrecovery: [{ cluster: 'berlin-*', until: 2026-12-05T20:00:00Z, pin: authority }]",
      '2:23: recovery[0].cluster: "berlin-*" is not the id of a cluster; write one cluster, as the report page shows it, without "*"',
    ],
    [
      'version: 1\nrecovery: [{ cluster: a, pin: authority }]',
      '2:12: recovery[0].until: missing; write a date and time with its zone, for example 2026-12-05T20:00:00+01:00',
    ],
    [
      'version: 1\nrecovery: [{ cluster: a, until: 2026-12-05T20:00:00Z, pin: authority }, { cluster: a, until: 2026-12-06T20:00:00Z, pin: authority }]',
      '2:84: recovery[1].cluster: "a" is the cluster of recovery[0] too; keep one of the two',
    ],
  ]);

  refusesIn(recovered, 'recovery[0].', [
    ['nodes: []', '2:69: nodes: an empty list; write at least one entry, or remove the key for its default'],
    ['nodes: [a, b, c, d, e, f, g, h, i, j]', '2:69: nodes: write at most 9 entries'],
    ['nodes: [cp-1, cp-1]', '2:69: nodes: a node appears twice; keep one of the two'],
    ["nodes: ['*']", '2:77: nodes[0]: "*" is no name that a Node can have'],
    [
      `${NODES}, bootstrapGroups: ['system:masters']`,
      '2:108: bootstrapGroups[0]: "system:masters" is no group that a bootstrap token can have; write system:bootstrappers: and a name',
    ],
    [
      "pin: authority, bootstrapGroups: ['system:bootstrappers:x']",
      '2:85: bootstrapGroups: works only with nodes; remove it, or write nodes',
    ],
    [
      `${NODES}, expiredAtMost: 90d`,
      '2:105: expiredAtMost: works only with pin: authority; a fingerprint is accepted at any age, so remove it',
    ],
    [
      'pin: authority, expiredAtMost: 367d',
      '2:100: expiredAtMost: 367d is not between 1s and 366d; pin an older certificate by its fingerprint',
    ],
    [
      `pin: 'sha256:${SHA256}', expiredAtMost: 90d`,
      '2:164: expiredAtMost: works only with pin: authority; a fingerprint is accepted at any age, so remove it',
    ],
    ['pin: any', `2:74: pin: "any" pins nothing; ${PIN}`],
  ]);
});

it('is in the comments of fleet.yaml as it has to be written', () => {
  const text = readFileSync(new URL('../../../fleet.yaml', import.meta.url), 'utf8');
  const [commented = ''] = /^# rollouts:\n[^]*?(?=^# A request)/m.exec(text) ?? [];
  const { rollouts, recovery } = fleet(`version: 1\n${commented.replaceAll(/^# (?=(?: |rollouts|recovery))/gm, '')}`);
  expect(rollouts.clusters.map(({ clusters }) => clusters)).toEqual([['berlin-mgmt/eksa-system/*']]);
  expect(recovery).toMatchObject([
    {
      cluster: 'berlin-mgmt/eksa-system/berlin-prod',
      server: { pin: 'authority' },
      nodes: ['berlin-cp-1', 'berlin-cp-2'],
    },
  ]);
});
