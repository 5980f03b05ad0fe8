import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { read } from '../../../lambdas/contracts/contract.ts';
import { Target } from '../../../lambdas/contracts/target.ts';
import { BERLIN, DUBLIN, PARIS, SECRET } from '../fleet/values.ts';

const Holder = z.object({ target: Target });

describe('a target', () => {
  it.each([
    [eks({ instances: { ...DUBLIN.instances, vpcId: 'vpc' } }), 'target.instances.vpcId is not the id of a VPC'],
    [message({ target: [] }), 'target is not an object'],
    [eks({ id: '' }), 'target.id is not the id of a cluster'],
    [eks({ id: '../etc' }), 'target.id is not the id of a cluster'],
    [eks({ id: 'a/b/c/d' }), 'target.id is not the id of a cluster'],
    [eks({ id: 'a\nb' }), 'target.id is not the id of a cluster'],
    [eks({ cluster: 'dublin' }), 'target.cluster is not an object'],
    [withCluster({ name: 'a\nb' }), 'target.cluster.name is not a cluster name'],
    [withCluster({ name: 'a'.repeat(101) }), 'target.cluster.name is not a cluster name'],
    [withCluster({ provider: 'gke' }), 'target.cluster.provider is not one of eks, eks-anywhere'],
    [withCluster({ serviceCidrs: null }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withCluster({ serviceCidrs: [8] }), 'target.cluster.serviceCidrs[0] is not text'],
    [withCluster({ serviceCidrs: ['10.0.0.0/33'] }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [withCluster({ serviceCidrs: Array(17).fill('10.0.0.0/8') }), 'target.cluster.serviceCidrs is not a list of CIDRs'],
    [eks({ lane: 'On Prem' }), 'target.lane is not the name of a lane'],
    [eks({ access: undefined }), 'target.access is not an object'],
    [withAccess({ kind: 'exec' }), 'target.access.kind is not one of eks, kubeconfig, cluster-api, context'],
    [withAccess({ endpoint: 'http://a' }), 'target.access.endpoint is not an https URL'],
    [withAccess({ endpoint: 'https://user:secret@a' }), 'target.access.endpoint is not an https URL'],
    [withAccess({ certificateAuthority: '' }), 'target.access.certificateAuthority is not a CA bundle in base64'],
    [withAccess({ certificateAuthority: 'a b' }), 'target.access.certificateAuthority is not a CA bundle in base64'],
    [withAccess({ scope: undefined }), 'target.access.scope is not an object'],
    [
      withAccess({ scope: { account: '1', region: 'eu-central-1' } }),
      'target.access.scope.account is not an account id',
    ],
    [
      withAccess({ scope: { account: '111122223333', region: 'mars' } }),
      'target.access.scope.region is not the name of a Region',
    ],
    [eks({ instances: null }), 'target.instances is not an object'],
    [withRole({ arn: 'arn:aws:iam::1:user/x' }), 'target.instances.role.arn is not the ARN of a role'],
    [withRole({ externalId: 'a b' }), 'target.instances.role.externalId is not an external id'],
    [withRole({ sessionTags: { '\u0000': '' } }), 'a key of target.instances.role.sessionTags is not allowed'],
    [
      withRole({ sessionTags: { team: 7 } }),
      'target.instances.role.sessionTags.team is not text of at most 256 characters',
    ],
    [
      withRole({ sessionTags: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, ''])) }),
      'target.instances.role.sessionTags has more than 50 entries',
    ],
    [listed({ access: { kind: 'kubeconfig', secret: 'berlin' } }), 'target.access.secret is not the ARN of a secret'],
    [
      listed({ access: { kind: 'kubeconfig', secret: SECRET.slice(0, -7) } }),
      'target.access.secret is not the ARN of a secret',
    ],
    [
      listed({ access: { kind: 'kubeconfig', secret: SECRET, authenticatorId: 'a\r\nb' } }),
      'target.access.authenticatorId is not a cluster id of aws-iam-authenticator',
    ],
    [listed({ management: {} }), 'target.management.namespace is not the name of a namespace'],
    [listed({ management: { namespace: 'A' } }), 'target.management.namespace is not the name of a namespace'],
    [
      listed({ management: { access: { kind: 'eks', secret: SECRET } } }),
      'target.management.access.kind is not kubeconfig',
    ],
    [message({ target: { ...BERLIN, management: undefined } }), 'target.management.access is missing'],
    [
      message({ target: { ...BERLIN, access: { kind: 'cluster-api', namespace: 'a/b' } } }),
      'target.access.namespace is not the name of a namespace',
    ],
  ])('that is %o is refused', (value, problem) => {
    expect(read(Holder, value)).toEqual({ ok: false, problem });
  });
});

function message(changed: Readonly<Record<string, unknown>>): object {
  return changed;
}

function eks(changed: Readonly<Record<string, unknown>>): object {
  return message({ target: { ...DUBLIN, ...changed } });
}

function listed(changed: Readonly<Record<string, unknown>>): object {
  return message({ target: { ...PARIS, ...changed } });
}

function withCluster(changed: Readonly<Record<string, unknown>>): object {
  return eks({ cluster: { ...DUBLIN.cluster, ...changed } });
}

function withAccess(changed: Readonly<Record<string, unknown>>): object {
  return eks({ access: { ...DUBLIN.access, ...changed } });
}

function withRole(changed: Readonly<Record<string, unknown>>): object {
  const role = { arn: 'arn:aws:iam::444455556666:role/certmarshal-spoke', ...changed };
  return eks({ instances: { ...DUBLIN.instances, role } });
}
