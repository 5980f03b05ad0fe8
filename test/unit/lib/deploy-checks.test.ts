import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { DEFAULT_AUDIT, DEFAULT_MONITORING, DEFAULT_ROLLOUTS, type Fleet } from '../../../lambdas/config/fleet.ts';
import { placeOf } from '../../../lambdas/config/written.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../../lambdas/rollout/policy.ts';
import { deployProblems, deployWarnings } from '../../../lib/deploy-checks.ts';
import { at, DAY, discovery, managementCluster, NOW } from '../fleet/values.ts';
import { fleetOf } from './stacks.ts';

const edge = {
  id: 'edge-1',
  name: 'edge',
  provider: 'eks-anywhere',
  kubeconfigSecret: 'arn',
  namespace: 'eksa-system',
  lane: 'dc',
} as const;
const lane = {
  name: 'onprem',
  vpcId: 'vpc-0a1b2c3d',
  subnetIds: ['subnet-0a1b2c3d'],
  securityGroupIds: ['sg-0a1b2c3d'],
};
const monitored = (changed: Partial<Fleet['monitoring']>): Partial<Fleet> => ({
  monitoring: { ...DEFAULT_MONITORING, ...changed },
});
const outside = (path: string, names: string) =>
  `${path}: without a lane, audits of ${names} do not connect to the machines: when certificates of etcd and kubelets expire is known only from other sources; name a lane whose VPC reaches the machines`;
const policy = (changed: Partial<Fleet['policies'][number]>) => ({ ...DEFAULT_POLICY, ...changed });

describe('a fleet that shall be deployed', () => {
  it.each<[string, Partial<Fleet>, readonly string[]]>([
    ['nothing', {}, []],
    [
      'no cluster and no discovery',
      { discovery: [], policies: [] },
      ['it lists no clusters and discovers none: nothing will be swept'],
    ],
    [
      'a cluster without a policy',
      { clusters: [edge], policies: [policy({ clusters: ['berlin-*'] })] },
      ['clusters[0]: no policy is for cluster edge-1: nothing is judged there'],
    ],
    [
      'a policy without a cluster',
      { discovery: [], clusters: [edge], policies: [DEFAULT_POLICY, policy({ name: 'cloud', providers: ['eks'] })] },
      ['policies[1]: policy cloud is for no cluster of the fleet'],
    ],
    [
      'access entries in a named Region, which may be that of the hub',
      { discovery: [discovery({ regions: ['eu-central-1', 'self'], accessEntries: ['shop'] })] },
      [
        'discovery[0].regions[0]: the access entries in eu-central-1 are in the stack CertMarshalSpoke-self-eu-central-1: deploy it too, or, if the hub is in that Region, write self for it',
      ],
    ],
    [
      "access entries in a Region that is not the hub's",
      {
        discovery: [discovery({ regions: ['eu-central-1'], accessEntries: ['shop'] })],
        hub: { account: '111122223333', region: 'eu-west-1', architecture: 'arm64', webhook: false },
      },
      [],
    ],
    ['an unused lane', { discovery: [], clusters: [edge], lanes: [lane] }, ['lanes[0]: no cluster names lane onprem']],
    ['a lane that is found by its VPC', { lanes: [lane] }, []],
    [
      'a lane that only the VPC of EKS clusters uses, beside a cluster that is swept from outside',
      { clusters: [{ ...edge, lane: 'default' }], lanes: [lane] },
      [
        'lanes[0]: no cluster names lane onprem; only EKS clusters in vpc-0a1b2c3d with a restricted endpoint are swept from it',
        outside('clusters[0]', 'edge'),
      ],
    ],
    [
      'several clusters whose machines no audit reaches, once',
      {
        managementClusters: [{ ...managementCluster(), lane: 'default' }],
        clusters: [
          { ...edge, lane: 'default' },
          { ...edge, id: 'eks', name: 'eks', provider: 'eks', lane: 'default', kubeconfigSecret: 'other' },
        ],
      },
      [outside('managementClusters[0]', 'mgmt, edge')],
    ],
    [
      'audits that are rarer than the alarm allows',
      { audit: { ...DEFAULT_AUDIT, everyMinutes: 120 } },
      [
        'audit.every: the alarm AuditStale fires 2h after an audit, not later than the next one; write a longer threshold for it under monitoring.alarms',
      ],
    ],
    ['nothing, where they are not', { audit: { ...DEFAULT_AUDIT, everyMinutes: 119 } }, []],
    [
      'nothing, where that alarm is off',
      {
        audit: { ...DEFAULT_AUDIT, everyMinutes: 120 },
        ...monitored({ alarms: { AuditStale: { threshold: 7_200, severity: 'off' } } }),
      },
      [],
    ],
    ['nothing, where that cluster names it', { clusters: [{ ...edge, lane: 'onprem' }], lanes: [lane] }, []],
    [
      'one kubeconfig of several clusters',
      {
        clusters: [edge, { ...edge, id: 'edge-2' }],
        managementClusters: [
          {
            ...managementCluster(),
            name: 'mgmt',
            kubeconfigSecret: 'other',
            workloadClusters: { ...managementCluster().workloadClusters, kubeconfigSecrets: { shop: 'other' } },
          },
        ],
      },
      [
        'clusters[1].kubeconfigSecret: edge-2 has the kubeconfig secret of edge-1, and a kubeconfig is for one cluster; write its own',
        'managementClusters[0].workloadClusters.kubeconfigSecrets.shop: shop has the kubeconfig secret of mgmt, and a kubeconfig is for one cluster; write its own',
      ],
    ],
    [
      'nothing, where clusters share that of their management cluster',
      {
        clusters: [
          { ...edge, managementKubeconfigSecret: 'mgmt' },
          { ...edge, id: 'edge-2', kubeconfigSecret: 'arn2', managementKubeconfigSecret: 'mgmt' },
        ],
      },
      [],
    ],
    [
      'a Region that does not exist',
      { discovery: [discovery({ regions: ['eu-centrall-1', 'eu-central-1'] })] },
      [
        'discovery[0].regions[0]: Region eu-centrall-1 is not among those that this version of certmarshal knows; is it misspelled?',
      ],
    ],
    [
      'silence that nobody would notice',
      {
        monitoring: {
          ...DEFAULT_MONITORING,
          alarms: {
            PlanHeartbeat: { threshold: 1, severity: 'off' },
            ReportHeartbeat: { threshold: 1, severity: 'warning' },
            AuditStale: { threshold: 7_200, severity: 'off' },
          },
        },
      },
      ['monitoring.alarms.PlanHeartbeat: off, so no one notices if certmarshal itself has stopped'],
    ],
    [
      'an alarm that would wake somebody up, and is off',
      monitored({ alarms: { CertificateCritical: { threshold: 1, severity: 'off' } } }),
      [
        'monitoring.alarms.CertificateCritical: off, so no one is told: A certificate has expired, or expires so soon that a person must act now.',
      ],
    ],
    [
      'a threshold that nothing reaches',
      monitored({
        alarms: {
          CertificateCritical: { threshold: 1_000_000, severity: 'critical' },
          CertificateWarning: { threshold: 100, severity: 'warning' },
        },
      }),
      [
        'monitoring.alarms.CertificateCritical.threshold: 1000000 is hardly ever reached, so no one is told: A certificate has expired, or expires so soon that a person must act now.',
      ],
    ],
    [
      'maintenance that never ends',
      monitored({
        maintenance: [
          { clusters: ['*'], when: { from: at(-DAY), until: '2099-01-01T00:00:00.000Z' } },
          { clusters: ['*'], when: { from: at(-DAY), until: at(30 * DAY) } },
          { clusters: ['*'], when: { days: ['sun'], from: '00:00', until: '00:00', timeZone: 'UTC' } },
        ],
      }),
      [
        'monitoring.maintenance[0].until: open for 26339 days, until 2099-01-01T00:00:00.000Z: what it explains of * fires no alarm in that time',
      ],
    ],
    [
      'maintenance that is over',
      monitored({ maintenance: [{ clusters: ['*'], when: { from: at(-DAY), until: at(-1) } }] }),
      [`monitoring.maintenance[0].until: ${at(-1)} is past: this entry does nothing any more, and can be removed`],
    ],
    [
      'maintenance of a cluster that there is not',
      {
        discovery: [],
        clusters: [edge],
        ...monitored({ maintenance: [{ clusters: ['edge*', 'egde-1'], when: { from: at(), until: at(DAY) } }] }),
      },
      ['monitoring.maintenance[0].clusters[1]: egde-1 is the id or name of no cluster of the fleet; is it misspelled?'],
    ],
    [
      'nothing, where that cluster may be found',
      monitored({ maintenance: [{ clusters: ['egde-1'], when: { from: at(), until: at(DAY) } }] }),
      [],
    ],
    [
      'a lock that nobody can open',
      { journal: { objectLock: { mode: 'compliance', days: 365 } } },
      [
        'journal.objectLock: in mode compliance no one, not even AWS, can remove what is written for 365 days, and the bucket stays and costs money as long',
      ],
    ],
    [
      'rollouts of a cluster that there is not',
      {
        discovery: [],
        clusters: [edge],
        rollouts: {
          ...DEFAULT_ROLLOUTS,
          clusters: [
            { ...DEFAULT_ROLLOUT_POLICY, clusters: ['edge-1', '*'] },
            { ...DEFAULT_ROLLOUT_POLICY, clusters: ['egde'] },
          ],
        },
      },
      ['rollouts.clusters[1].clusters[0]: egde is the id of no cluster of the fleet; is it misspelled?'],
    ],
    [
      'rollouts of names, where clusters are found by their ids',
      {
        discovery: [],
        clusters: [edge],
        managementClusters: [{ ...managementCluster(), name: 'mgmt' }],
        rollouts: {
          ...DEFAULT_ROLLOUTS,
          clusters: [
            { ...DEFAULT_ROLLOUT_POLICY, clusters: ['berlin-*', 'edge-1', 'mgmt', 'mgmt/eksa-system/*'] },
            { ...DEFAULT_ROLLOUT_POLICY, clusters: ['munich', 'oslo/*/*', 'mgmt/*', '*'] },
          ],
        },
      },
      [
        'rollouts.clusters[0].clusters[0]: berlin-* matches no cluster that discovery finds: those have ids like MANAGEMENT/NAMESPACE/NAME and ACCOUNT/REGION/NAME. Write such an id, for example */*/berlin-*; a cluster that fleet.yaml lists needs its id without "*"',
        'rollouts.clusters[1].clusters[0]: munich matches no cluster that discovery finds: those have ids like MANAGEMENT/NAMESPACE/NAME and ACCOUNT/REGION/NAME. Write such an id, for example */*/munich; a cluster that fleet.yaml lists needs its id without "*"',
        'rollouts.clusters[1].clusters[1]: oslo/*/* is the id of no cluster of the fleet; is it misspelled?',
        'rollouts.clusters[1].clusters[2]: mgmt/* is the id of no cluster of the fleet; is it misspelled?',
      ],
    ],
    [
      'recovery that is on, over, too long, or of no cluster',
      {
        clusters: [edge],
        recovery: [
          { cluster: 'edge-1', until: at(7 * DAY), server: { pin: 'authority' } },
          { cluster: 'mgmt/eksa-system/berlin', until: at(-1), server: { pin: 'authority' } },
          { cluster: 'edge-1', until: at(7 * DAY + 1), server: { pin: 'authority' } },
          { cluster: 'edge', until: at(-1), server: { pin: 'authority' } },
          { cluster: 'edge-1', until: at(DAY), nodes: ['cp-1', 'cp-2'] },
          { cluster: 'edge-1', until: at(1), server: { pin: 'authority' }, nodes: ['cp-1'] },
        ],
      },
      [
        `recovery[0].until: until ${at(7 * DAY)} an expired certificate of the API server of edge-1 is tolerated`,
        `recovery[1].until: ${at(-1)} is past: the entry of mgmt/eksa-system/berlin does nothing any more, and can be removed`,
        `recovery[2].until: ${at(7 * DAY + 1)} is more than 7 days from now: the entry is not used before ${at(1)}, and until then an expired certificate of edge-1 is refused; write an earlier time`,
        `recovery[3].until: ${at(-1)} is past: the entry of edge does nothing any more, and can be removed`,
        'recovery[3].cluster: edge is the id of no cluster of the fleet; is it misspelled?',
        `recovery[4].until: until ${at(DAY)} client certificates of cp-1, cp-2 in edge-1 may be approved, also where policies observe`,
        `recovery[5].until: until ${at(1)} an expired certificate of the API server of edge-1 is tolerated, and client certificates of cp-1 in edge-1 may be approved, also where policies observe`,
      ],
    ],
    [
      'accepted findings whose time is over, or of no cluster',
      {
        clusters: [edge],
        audit: {
          ...DEFAULT_AUDIT,
          accept: [
            { cluster: 'edge-1', code: 'WeakKey', until: at(-1), reason: 'old' },
            { cluster: 'edge', code: 'WeakKey', until: at(1), reason: 'old' },
            { cluster: '111122223333/eu-central-1/dublin', code: 'WeakKey', until: at(1), reason: 'old' },
          ],
        },
      },
      [
        `audit.accept[0].until: ${at(-1)} is past: this entry does nothing any more, and can be removed`,
        'audit.accept[1].cluster: edge is the id of no cluster of the fleet; is it misspelled?',
      ],
    ],
    ['nothing, where the lock can be opened', { journal: { objectLock: { mode: 'governance', days: 365 } } }, []],
  ])('is warned of %s', (_, changed, expected) => {
    const warnings = deployWarnings(fleetOf(changed), NOW);
    expect(warnings.map(({ path, message }) => (path.length === 0 ? message : `${placeOf(path)}: ${message}`))).toEqual(
      expected,
    );
  });
});

describe('deployProblems', () => {
  it('refuses nodes for more than a day, and nothing else', () => {
    const recovery = [
      { cluster: 'a', until: at(DAY), nodes: ['cp-1'] },
      { cluster: 'b', until: at(DAY + 1), nodes: ['cp-1'], server: { pin: 'authority' as const } },
      { cluster: 'c', until: at(30 * DAY), server: { pin: 'authority' as const } },
      { cluster: 'd', until: at(-DAY), nodes: ['cp-1'] },
    ];
    expect(deployProblems(fleetOf({ recovery }), NOW)).toEqual([
      {
        path: ['recovery', 1, 'until'],
        message: `${at(DAY + 1)} is more than 24 hours from now; with nodes write an earlier time`,
      },
    ]);
  });
});
