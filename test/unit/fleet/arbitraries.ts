import * as fc from 'fast-check';
import type { Order } from '../../../lambdas/contracts/order.ts';
import type { Access, AwsScope, KubeconfigAccess, Target } from '../../../lambdas/contracts/target.ts';
import { factsOf } from '../../../lambdas/fleet/fits-fleet.ts';

const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
const namespace = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
const account = fc.stringMatching(/^\d{12}$/);
const secret = fc
  .stringMatching(/^[A-Za-z0-9/_+=.@-]{1,512}$/)
  .map((path) => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${path}-Ab12Cd`);
const serviceCidrs = fc.array(
  fc
    .oneof(fc.tuple(fc.ipV4(), fc.nat({ max: 32 })), fc.tuple(fc.ipV6(), fc.nat({ max: 128 })))
    .map(([address, prefix]) => `${address}/${prefix}`),
  { maxLength: 16 },
);

const kubeconfig: fc.Arbitrary<KubeconfigAccess> = fc.record(
  { kind: fc.constant('kubeconfig' as const), secret, authenticatorId: name },
  { requiredKeys: ['kind', 'secret'] },
);

const scope: fc.Arbitrary<AwsScope> = fc.record(
  {
    account,
    region: fc.constantFrom('eu-central-1', 'us-gov-west-1', 'cn-north-1', 'eusc-de-east-1'),
    role: fc.record(
      {
        arn: account.map((id) => `arn:aws:iam::${id}:role/certmarshal-spoke`),
        externalId: fc.stringMatching(/^[\w+=,.@:/-]{2,64}$/),
        sessionTags: fc.dictionary(fc.stringMatching(/^[A-Za-z0-9 _.:/=+@-]{1,20}$/), fc.string({ maxLength: 20 }), {
          maxKeys: 5,
          noNullPrototype: true,
        }),
      },
      { requiredKeys: ['arn'] },
    ),
  },
  { requiredKeys: ['account', 'region'] },
);

const access: fc.Arbitrary<Access> = fc.oneof(
  kubeconfig,
  fc.record({ kind: fc.constant('cluster-api' as const), namespace }),
  fc.record({
    kind: fc.constant('eks' as const),
    endpoint: fc.domain().map((host) => `https://${host}`),
    certificateAuthority: fc.base64String({ minLength: 4, maxLength: 4_000 }),
    scope,
  }),
);

/** Every target that {@link anyOrder} can carry. */
export const anyTarget: fc.Arbitrary<Target> = fc
  .record(
    {
      id: fc.oneof(
        name,
        fc.tuple(name, namespace, name).map((parts) => parts.join('/')),
      ),
      cluster: fc.record(
        {
          name,
          provider: fc.constantFrom('eks' as const, 'eks-anywhere' as const),
          serviceCidrs,
          remoteNodeNetworks: serviceCidrs,
        },
        { requiredKeys: ['name', 'provider'] },
      ),
      access,
      management: fc.record({ access: kubeconfig, namespace }, { requiredKeys: ['namespace'] }),
      eksAnywhereNamespace: namespace,
      instances: fc
        .tuple(scope, fc.constantFrom({}, { vpcId: 'vpc-0a1b2c3d4e5f60718' }))
        .map(([place, vpc]) => ({ ...place, ...vpc })),
      lane: fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/),
      audit: fc.record(
        { secrets: fc.constant(true as const), kubeletMetrics: fc.constant(true as const) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['id', 'cluster', 'access', 'lane'] },
  )
  .filter((target) => target.access.kind !== 'cluster-api' || target.management?.access !== undefined);

export const anyOrder: fc.Arbitrary<Order> = fc.record(
  {
    id: anyTarget.map(({ id }) => id),
    facts: anyTarget.map(factsOf),
    tick: fc.nat({ max: 253_402_300_799_999 }),
    deadlineMs: fc.integer({ min: 1, max: 900_000 }),
    lastHeard: fc.nat({ max: 253_402_300_799_999 }),
    holdWrites: fc.string({ maxLength: 1_000 }),
    replacedBefore: fc.nat({ max: 253_402_300_799_999 }),
    workloadClusters: fc.constant(true as const),
    audit: fc.record({ known: fc.constant(true as const) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['id', 'facts', 'tick', 'deadlineMs'] },
);
