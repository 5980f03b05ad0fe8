import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { App } from 'aws-cdk-lib/core';

import { DEFAULT_FLEET, type Fleet } from '../../../lambdas/config/fleet.ts';
import { type FleetStacks, fleetStacks } from '../../../lib/app-stacks.ts';
import type { HubPlace } from '../../../lib/spokes-of.ts';
import { discovery } from '../fleet/values.ts';
import { CDK_CONTEXT } from './cdk-context.ts';

/** Of test/scratch.ts. */
const scratch = process.env['CERTMARSHAL_SCRATCH'] ?? tmpdir();

export const PLACE: HubPlace = { account: '999900001111', region: 'eu-central-1' };

export function fleetOf(changed: Partial<Fleet> = {}): Fleet {
  return {
    ...DEFAULT_FLEET,
    discovery: [discovery()],
    ...changed,
  };
}

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

/** An ARN with its references in angle brackets, without the hash of a logical id. */
function plain(arn: unknown): string {
  if (typeof arn === 'string') return arn;
  const value = arn as Readonly<Record<string, unknown>>;
  const name = (id: unknown) => String(id).replace(/[0-9A-F]{8}$/, '');
  if ('Ref' in value) return `<${String(value['Ref']).replace(/^AWS::/, '')}>`.replace(/[0-9A-F]{8}>$/, '>');
  if ('Fn::GetAtt' in value) return `<${name((value['Fn::GetAtt'] as readonly unknown[])[0])}>`;
  const [, parts] = value['Fn::Join'] as readonly [string, readonly unknown[]];
  return parts.map(plain).join('');
}
