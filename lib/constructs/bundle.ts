import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { AssetHashType, DockerImage } from 'aws-cdk-lib/core';
import { buildSync } from 'esbuild';

const PROJECT = resolve(import.meta.dirname, '../..');

/**
 * The code of a function: ES modules that esbuild makes from its handler, `index.mjs` and files that it loads later,
 * with JSON files beside them.
 *
 * - The AWS SDK is included: it loads faster from one file than from the runtime, and is the tested version.
 * - Modules imported with `import()` are separate files, loaded at first use. NodejsFunction cannot do that.
 * - Function names survive minification and no source map is shipped: a map is larger than the code and would be parsed
 * at the first error.
 * - `require` exists, because some dependencies are CommonJS.
 * - The asset hash covers everything, so that a changed JSON file is a changed function.
 *
 * @param handlerFile the file of the handler, without directory and extension: `sweep` for lambdas/functions/sweep.ts
 * @param files content by file name
 */
export function bundle(handlerFile: string, files: Readonly<Record<string, unknown>>): Code {
  // The folder itself is never the asset, except where the CDK does not bundle, as for `cdk destroy`.
  return Code.fromAsset(join(PROJECT, 'lambdas/functions'), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Never run. The CDK makes assets with the same command once.
      image: DockerImage.fromRegistry('none'),
      command: ['esbuild', handlerFile, JSON.stringify(files)],
      local: {
        tryBundle(output) {
          buildSync({
            entryPoints: { index: join(PROJECT, 'lambdas/functions', `${handlerFile}.ts`) },
            outdir: output,
            outExtension: { '.js': '.mjs' },
            bundle: true,
            splitting: true,
            format: 'esm',
            platform: 'node',
            target: 'node24',
            mainFields: ['module', 'main'],
            minify: true,
            keepNames: true,
            logLevel: 'warning',
            banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
          });
          for (const [name, content] of Object.entries(files))
            writeFileSync(join(output, name), JSON.stringify(content));
          return true;
        },
      },
    },
  });
}
