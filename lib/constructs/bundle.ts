import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { AssetHashType, DockerImage } from 'aws-cdk-lib/core';
import { buildSync } from 'esbuild';

const PROJECT = resolve(import.meta.dirname, '../..');

/**
 * The code of a function: ES modules that esbuild makes of its handler, `index.mjs` and what that loads later, and JSON files beside them.
 *
 * - The AWS SDK is inside: it loads faster from one file than from the runtime, and is the version that was tested.
 * - What is imported by `import()` is a file of its own, loaded when it is needed first. NodejsFunction cannot do that.
 * - Function names survive minification and no source map is shipped: a map is larger than the code and is parsed in the middle of
 *   the first error.
 * - `require` exists, because some dependencies are CommonJS.
 * - Everything takes part in the hash of the asset, so that a changed JSON file is a changed function.
 *
 * @param handlerFile the file of the handler, without directory and extension: `sweep` for lambdas/functions/sweep.ts
 * @param files content by file name
 */
export function bundle(handlerFile: string, files: Readonly<Record<string, unknown>>): Code {
  // The folder itself is never an asset; the CDK takes it as one where it does not bundle, as for `cdk destroy`.
  return Code.fromAsset(join(PROJECT, 'lambdas/functions'), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Never run. Assets with the same command are made once.
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
