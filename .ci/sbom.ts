import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { bundle, bundledPackages } from './bundle.ts';

/** What is used here of CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json/. */
export interface Sbom {
  readonly components: readonly { readonly 'bom-ref': string; readonly name: string; readonly version: string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * A bill of materials without what is only used to develop.
 *
 * @param all of `npm sbom`, which knows what is installed, not what a bundle contains
 * @throws Error when a shipped package is not in it
 */
export function shippedOnly<B extends Sbom>(
  all: B,
  shipped: readonly { readonly name: string; readonly version: string }[],
): B {
  const components = shipped.map(({ name, version }) => {
    const found = all.components.find((each) => each.name === name && each.version === version);
    if (found === undefined) throw new Error(`npm sbom has no ${name} ${version}, which is in dist. Run npm ci.`);
    return found;
  });
  const references = new Set(components.map((component) => component['bom-ref']));
  const own = new Set(all.components.map((component) => component['bom-ref']));
  return {
    ...all,
    components,
    dependencies: all.dependencies.flatMap(({ ref, dependsOn }) =>
      // The package itself is no component.
      references.has(ref) || !own.has(ref)
        ? [{ ref, dependsOn: dependsOn.filter((each) => references.has(each)) }]
        : [],
    ),
  };
}

// `npm run -s sbom`: what is in the package, as CycloneDX.
if (import.meta.main) {
  const { stdout } = await promisify(execFile)('npm', ['sbom', '--sbom-format', 'cyclonedx'], { maxBuffer: 2 ** 26 });
  const sbom = shippedOnly(JSON.parse(stdout), bundledPackages(await bundle(false)));
  process.stdout.write(`${JSON.stringify(sbom, undefined, 2)}\n`);
}
