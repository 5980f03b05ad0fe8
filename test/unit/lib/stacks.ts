import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { App } from 'aws-cdk-lib/core';
import { DEFAULT_FLEET, DEFAULT_ROLLOUTS, type Fleet } from '../../../lambdas/config/fleet.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../../lambdas/rollout/policy.ts';
import { type FleetStacks, fleetStacks } from '../../../lib/app-stacks.ts';
import type { HubPlace } from '../../../lib/spokes-of.ts';
import { discovery, fleetCluster, managementCluster } from '../fleet/values.ts';
import { CDK_CONTEXT } from './cdk-context.ts';

/** Of test/scratch.ts. */
const scratch = process.env['CERTMARSHAL_SCRATCH'] ?? tmpdir();

export const PLACE: HubPlace = { account: '999900001111', region: 'eu-central-1' };

export function fleetOf(changed: Partial<Fleet> = {}): Fleet {
  return { ...DEFAULT_FLEET, discovery: [discovery()], ...changed };
}

export const KEY = 'arn:aws:kms:eu-central-1:999900001111:key/6f1d0c5a-0000-4000-8000-000000000000';
/** A fleet that has one of everything that the template of the hub may have. */
export const EVERYTHING: Fleet = fleetOf({
  discovery: [
    discovery({ accessEntries: ['dublin'] }),
    discovery({ accounts: ['111122223333'], regions: ['eu-west-1'], sessionTags: { team: 'platform' } }),
  ],
  managementClusters: [managementCluster()],
  clusters: [fleetCluster()],
  lanes: [
    {
      name: 'onprem',
      vpcId: 'vpc-0a1b2c3d4e5f60718',
      subnetIds: ['subnet-0a1b2c3d4e5f60718', 'subnet-1b2c3d4e5f607182a'],
      securityGroupIds: ['sg-0a1b2c3d4e5f60718'],
    },
  ],
  hub: { architecture: 'x86_64', webhook: true, reservedConcurrency: 20, kmsKeyArn: KEY },
  rollouts: { ...DEFAULT_ROLLOUTS, clusters: [{ ...DEFAULT_ROLLOUT_POLICY, clusters: ['berlin-*'] }] },
});

/** The stacks of a fleet, without bundling. */
export function stacksOf(fleet: Fleet, place: HubPlace = PLACE): FleetStacks & { readonly app: App } {
  const app = new App({
    outdir: mkdtempSync(join(scratch, 'cdk.out-')),
    context: { ...CDK_CONTEXT, 'aws:cdk:bundling-stacks': [] },
  });
  const { account: _account, region: _region, ...hub } = fleet.hub;
  return { app, ...fleetStacks(app, { ...fleet, hub: { ...hub, ...place } }) };
}

type Properties = Readonly<Record<string, unknown>>;

/** The resource of a type whose logical id starts with this. */
export function resource(
  template: Template,
  type: string,
  id: string,
): { readonly id: string; readonly properties: Properties } {
  const found = Object.entries(template.findResources(type)).filter(([name]) => name.startsWith(id));
  const [[name, { Properties: properties }] = ['', {}]] = found;
  if (found.length !== 1) throw new Error(`${found.length} resources of ${type} start with ${id}`);
  return { id: name, properties };
}

/** All that the policies of a role allow: resources by action, as text, in order. */
export function allowedTo(template: Template, role: string): Record<string, readonly string[]> {
  const policies = [
    ...Object.values(template.findResources('AWS::IAM::Policy')),
    ...Object.values(template.findResources('AWS::IAM::ManagedPolicy')),
  ].filter(({ Properties: { Roles } }) => JSON.stringify(Roles).includes(`"${role}`));
  const allowed: Record<string, string[]> = {};
  for (const { Effect, Action, Resource } of policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement))
    for (const action of [Action].flat())
      allowed[`${Effect === 'Deny' ? 'DENY ' : ''}${action}`] = [
        ...(allowed[`${Effect === 'Deny' ? 'DENY ' : ''}${action}`] ?? []),
        ...[Resource].flat().map(plain),
      ].toSorted();
  return allowed;
}

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource?: unknown;
  readonly Principal?: unknown;
  readonly Condition?: unknown;
}

const WITHOUT_TLS = '{Bool:{aws:SecureTransport:false}}';

/**
 * Every statement of every policy of a template, also of trust and of resources, in order: one line for each resource that it is about.
 * That of TLS, which all have alike, is left out.
 */
export function statementsOf(template: Template): readonly string[] {
  const resources: Readonly<Record<string, { readonly Properties?: Properties }>> = template.toJSON()['Resources'];
  const statements = Object.entries(resources).flatMap(([id, { Properties: properties = {} }]) =>
    documentsIn(properties).flatMap(({ Statement }) => Statement.map((statement) => ({ id, properties, statement }))),
  );
  return statements
    .filter(({ statement: { Effect, Condition } }) => Effect !== 'Deny' || text(Condition ?? {}) !== WITHOUT_TLS)
    .flatMap(({ id, properties, statement: { Effect, Action, Resource, Principal, Condition } }) => {
      const whose = [properties['Roles'] ?? { Ref: id }].flat().map(plain);
      const actions = [Action].flat().join(' ');
      const to = Principal === undefined ? '' : ` to ${text(Principal)}`;
      const when = Condition === undefined ? '' : ` if ${text(Condition)}`;
      return whose.flatMap((owner) =>
        [Resource ?? 'itself'].flat().map((on) => `${owner} ${Effect} ${actions} on ${plain(on)}${to}${when}`),
      );
    })
    .toSorted();
}

interface PolicyDocument {
  readonly Statement: readonly Statement[];
}

function documentsIn(value: unknown): readonly PolicyDocument[] {
  if (typeof value !== 'object' || value === null) return [];
  return 'Statement' in value ? [value as PolicyDocument] : Object.values(value).flatMap(documentsIn);
}

/** A value as JSON, with its references in angle brackets. */
export function text(value: unknown): string {
  const isReference = (part: object) => /^(?:Ref|Fn::GetAtt|Fn::Join)$/.test(Object.keys(part)[0] ?? '');
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && isReference(part) ? plain(part) : part,
  ).replaceAll(/\\*"/g, '');
}

/** An ARN with its references in angle brackets, without the hash of a logical id. */
function plain(arn: unknown): string {
  if (typeof arn === 'string') return arn;
  const value = arn as Readonly<Record<string, unknown>>;
  const name = (id: unknown) => String(id).replace(/[0-9A-F]{8}$/, '');
  if ('Ref' in value) return `<${String(value['Ref']).replace(/^AWS::/, '')}>`.replace(/[0-9A-F]{8}>$/, '>');
  if ('Fn::GetAtt' in value) return `<${name((value['Fn::GetAtt'] as readonly unknown[])[0])}>`;
  if (!('Fn::Join' in value)) return `<${JSON.stringify(value)}>`;
  const [, parts] = value['Fn::Join'] as readonly [string, readonly unknown[]];
  return parts.map(plain).join('');
}
