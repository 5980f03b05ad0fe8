import type { Account } from './account.ts';
import { cdkOk } from './cdk.ts';
import { retainedOf } from './expectations.ts';
import { createThroughApi, deleteThroughApi, missingAlarms, type ResolvedLeftOut, resolveOutputs } from './left-out.ts';
import { outputsOf, resourcesOf, type StackResource } from './stack.ts';
import type { LeftOut } from './transform.ts';

/** What is deployed. */
export interface DeployableApp {
  /** Where the CDK runs. */
  readonly directory: string;
  /** A cloud assembly, transformed. */
  readonly assembly: string;
  readonly leftOutOf: ReadonlyMap<string, readonly LeftOut[]>;
}

/** A stack with what the emulator cannot make of it, made through its API. */
export interface DeployedStack {
  readonly name: string;
  readonly account: Account;
  readonly outputs: Readonly<Record<string, string>>;
  readonly resources: readonly StackResource[];
  readonly leftOut: readonly (ResolvedLeftOut & { readonly created: boolean })[];
  /** What stays when it is destroyed, as an inventory names it. */
  readonly retained: readonly string[];
}

export async function deployStack(
  { directory, assembly, leftOutOf }: DeployableApp,
  { name, account }: Pick<DeployedStack, 'name' | 'account'>,
): Promise<DeployedStack> {
  const options = ['--app', assembly, '--exclusively', '--require-approval', 'never'];
  await cdkOk(directory, account.environment, 'deploy', name, ...options);
  const outputs = await outputsOf(account.calls, name);
  const ofStack = leftOutOf.get(name) ?? [];
  const leftOut: DeployedStack['leftOut'][number][] = [];
  for (const resource of ofStack) {
    const resolved = resolveOutputs(resource, outputs);
    leftOut.push({ ...resolved, created: await createThroughApi(resolved, account, missingAlarms(ofStack)) });
  }
  const resources = await resourcesOf(account.calls, name);
  return { name, account, outputs, resources, leftOut, retained: await retainedOf(assembly, name, resources) };
}

/** What CloudFormation would delete with the stack, or wait for. */
export async function deleteLeftOut({ leftOut, account }: DeployedStack): Promise<void> {
  for (const resource of leftOut) if (resource.created) await deleteThroughApi(resource, account);
}

export async function destroyStack({ directory, assembly }: DeployableApp, stack: DeployedStack): Promise<void> {
  await deleteLeftOut(stack);
  const options = ['--app', assembly, '--exclusively', '--force'];
  await cdkOk(directory, stack.account.environment, 'destroy', stack.name, ...options);
}
