import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type IRole, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Runtime } from 'aws-cdk-lib/aws-lambda';
import { type ICommandHooks, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { type ILogGroup, LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Duration, Stage } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { NODE_OPTIONS } from '../node-options.ts';

const PROJECT = resolve(import.meta.dirname, '../..');

export interface HubFunctionProps {
  /** The file of the handler, without directory and extension: `sweep` for lambdas/functions/sweep.ts. */
  readonly handlerFile: string;
  readonly description: string;
  readonly timeout: Duration;
  /** Mebibytes; the share of a processor follows it. @default 256 */
  readonly memorySize?: number;
  /** @default {} */
  readonly environment?: Readonly<Record<string, string>>;
  /** JSON files beside the bundle, by file name. */
  readonly files: Readonly<Record<string, unknown>>;
}

/**
 * A function of certmarshal. What all of them have in common:
 *
 * - Node.js 24 on arm64, an ES module in one minified file (`index.mjs`), the AWS SDK inside: it loads faster from one file than from
 *   the runtime, and is the version that was tested.
 * - Function names survive minification and no source map is shipped: a map is larger than the code and is parsed in the middle of
 *   the first error.
 * - `require` exists in the bundle, because some dependencies are CommonJS.
 * - A log group of its own, kept for a year and after the stack is gone: it holds the record of every approval.
 * - A role of its own that may write to that log group, and nothing else until it is granted.
 * - Invoked asynchronously, an event is neither repeated nor older than a minute: the next tick is the retry.
 */
export class HubFunction extends NodejsFunction {
  /** The log group, named by CloudFormation. */
  public readonly logs: ILogGroup;
  declare public readonly role: IRole;

  constructor(scope: Construct, id: string, props: HubFunctionProps) {
    const logs = new LogGroup(scope, `${id}Logs`, { retention: RetentionDays.ONE_YEAR });
    const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logs.grantWrite(role);
    super(scope, id, {
      description: props.description,
      entry: join(PROJECT, 'lambdas/functions', `${props.handlerFile}.ts`),
      projectRoot: PROJECT,
      depsLockFilePath: join(PROJECT, 'package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: props.timeout,
      memorySize: props.memorySize ?? 256,
      environment: { NODE_OPTIONS, ...props.environment },
      // A switch of the AWS SDK 2.
      awsSdkConnectionReuse: false,
      role,
      logGroup: logs,
      retryAttempts: 0,
      maxEventAge: Duration.minutes(1),
      bundling: {
        format: OutputFormat.ESM,
        target: 'node24',
        mainFields: ['module', 'main'],
        minify: true,
        keepNames: true,
        sourceMap: false,
        bundleAwsSDK: true,
        banner: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
        commandHooks: copyBesideBundle(scope, id, props.files),
      },
    });
    this.logs = logs;
  }
}

/**
 * Writes the files into the cloud assembly, and has them copied from there beside the bundle. They take part in the hash of the asset, so
 * that a change of them is a change of the function.
 */
function copyBesideBundle(scope: Construct, id: string, files: Readonly<Record<string, unknown>>): ICommandHooks {
  const directory = resolve(Stage.of(scope)?.outdir ?? 'cdk.out', 'files', id);
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), JSON.stringify(content));
  return {
    beforeBundling: () => [],
    beforeInstall: () => [],
    afterBundling: (_input, output) => Object.keys(files).map((name) => `cp "${join(directory, name)}" "${output}"`),
  };
}
