import { array, assert, jsonValue, nat, pre, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEksExec } from '../../../lambdas/aws/eks-exec.ts';
import type { JsonObject } from '../../../lambdas/resources/fields.ts';

const REGION = ['--region', 'eu-central-1'];
const ROLE = 'arn:aws:iam::111122223333:role/eks-reader';

/** As aws-cli writes it: awscli/customizations/eks/update_kubeconfig.py, `get_user_entry`, 1.45.55 and v2. */
const WRITTEN: JsonObject = {
  apiVersion: 'client.authentication.k8s.io/v1beta1',
  args: [...REGION, 'eks', 'get-token', '--cluster-name', 'dublin', '--output', 'json'],
  command: 'aws',
};
const DUBLIN = { region: 'eu-central-1', clusterName: 'dublin' };
const args = (...given: readonly string[]): JsonObject => ({ ...WRITTEN, args: given });
const before = [...REGION, 'eks', 'get-token', '--cluster-name', 'dublin'];

describe('the exec that aws eks update-kubeconfig writes', () => {
  it.each<[string, JsonObject, object]>([
    ['as it is', WRITTEN, DUBLIN],
    ['of aws-cli before 1.27.86', args(...before), DUBLIN],
    [
      'of aws-cli before 1.24, for Kubernetes before 1.24',
      { ...args(...before), apiVersion: 'client.authentication.k8s.io/v1alpha1' },
      DUBLIN,
    ],
    ['with --role-arn', args(...before, '--output', 'json', '--role', ROLE), { ...DUBLIN, role: ROLE }],
    ['with the role by its long name', args(...before, '--role-arn', ROLE), { ...DUBLIN, role: ROLE }],
    [
      'with --profile',
      { ...WRITTEN, env: [{ name: 'AWS_PROFILE', value: 'team a/prod' }] },
      { ...DUBLIN, profile: 'team a/prod' },
    ],
    [
      'written again by kubectl config',
      { ...WRITTEN, env: null, interactiveMode: 'IfAvailable', provideClusterInfo: false },
      DUBLIN,
    ],
    [
      'of China',
      args('--region', 'cn-north-1', ...before.slice(2), '--role', ROLE.replace('aws', 'aws-cn')),
      { region: 'cn-north-1', clusterName: 'dublin', role: ROLE.replace('aws', 'aws-cn') },
    ],
  ])('is read %s', (_, exec, expected) => {
    expect(readEksExec(exec)).toEqual({ ...expected });
  });

  it.each<[string, JsonObject]>([
    ['an argument more', args(...before, '--output', 'json', '--debug')],
    ['an argument more in front', args('--no-verify-ssl', ...before)],
    ['another endpoint', args(...before, '--output', 'json', '--endpoint-url', 'https://evil.example')],
    ['another output', args(...before, '--output', 'text')],
    ['a role in front', args(...before, '--role', ROLE, '--output', 'json')],
    ['two roles', args(...before, '--role', ROLE, '--role', ROLE)],
    ['a role without a value', args(...before, '--role')],
    ['a role that is none', args(...before, '--role', 'reader')],
    ['a profile among the arguments', args(...before, '--profile', 'prod')],
    ['another order', args('eks', 'get-token', '--cluster-name', 'dublin', ...REGION)],
    ['two values in one argument', args('--region=eu-central-1', ...before.slice(2))],
    ['a line end in an argument', args('--region\neu-central-1', ...before.slice(2))],
    ['a line end that makes arguments', args(...before.slice(0, 5), 'dublin\n--output\njson')],
    ['a local cluster on Outposts', args(...REGION, 'eks', 'get-token', '--cluster-id', 'dublin', '--output', 'json')],
    ['another command of aws', args(...REGION, 'eks', 'describe-cluster', '--cluster-name', 'dublin')],
    ['no Region', args('--region', 'Frankfurt', ...before.slice(2))],
    ['a name that no cluster has', args(...REGION, 'eks', 'get-token', '--cluster-name', '../dublin')],
    ['no arguments', { ...WRITTEN, args: undefined }],
    ['arguments that are no text', { ...WRITTEN, args: [...REGION, 1] }],
    ['a path', { ...WRITTEN, command: '/usr/local/bin/aws' }],
    ['a path that is relative', { ...WRITTEN, command: './aws' }],
    ['another program', { ...WRITTEN, command: 'aws-iam-authenticator' }],
    ['no command', { apiVersion: WRITTEN['apiVersion'], args: WRITTEN['args'] }],
    ['no version', { command: 'aws', args: WRITTEN['args'] }],
    ['another version', { ...WRITTEN, apiVersion: 'v1' }],
    ['another variable', { ...WRITTEN, env: [{ name: 'AWS_ENDPOINT_URL', value: 'https://evil.example' }] }],
    [
      'a variable more',
      {
        ...WRITTEN,
        env: [
          { name: 'AWS_PROFILE', value: 'prod' },
          { name: 'AWS_CA_BUNDLE', value: '/tmp/x' },
        ],
      },
    ],
    ['a profile that is none', { ...WRITTEN, env: [{ name: 'AWS_PROFILE', value: 'a]\n[b' }] }],
    ['an empty profile', { ...WRITTEN, env: [{ name: 'AWS_PROFILE', value: '' }] }],
    ['a variable with a field more', { ...WRITTEN, env: [{ name: 'AWS_PROFILE', value: 'prod', from: 'x' }] }],
    ['an environment that is no list', { ...WRITTEN, env: { AWS_PROFILE: 'prod' } }],
    ['cluster information for the command', { ...WRITTEN, provideClusterInfo: true }],
    ['a question for a person', { ...WRITTEN, interactiveMode: 'Always' }],
    ['a field more', { ...WRITTEN, installHint: 'x' }],
    ['a field that every object has', { ...WRITTEN, hasOwnProperty: 'command' }],
  ])('is any other with %s', (_, exec) => {
    expect(readEksExec(exec)).toBeUndefined();
  });

  it('is any other with any argument, field or variable more', () => {
    const written = before.concat('--output', 'json');
    assert(
      property(nat(written.length), string(), (at, more) => {
        expect(readEksExec(args(...written.toSpliced(at, 0, more)))).toBeUndefined();
      }),
    );
    assert(
      property(string(), jsonValue(), (field, value) => {
        pre(!['apiVersion', 'command', 'args', 'env', 'interactiveMode', 'provideClusterInfo'].includes(field));
        expect(readEksExec(Object.fromEntries([...Object.entries(WRITTEN), [field, value]]))).toBeUndefined();
      }),
    );
    assert(
      property(array(jsonValue(), { minLength: 1 }), (env) => {
        expect(readEksExec({ ...WRITTEN, env })).toBeUndefined();
      }),
    );
  });
});
