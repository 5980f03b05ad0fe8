/** Any piece of a secret that is so long is a leak: nobody guesses the rest of it by chance, and no ordinary text has it. */
const PIECE = 20;

/** Secrets of a run, to be found nowhere. */
export interface Secrets {
  /** @param name said in place of the secret */
  add(name: string, secret: string): void;
  /** Names of the secrets of which the text has a piece, in the clear or in base64. */
  in(text: string): readonly string[];
}

export function createSecrets(): Secrets {
  const names = new Map<string, string>();
  const known = new Set<string>();
  return {
    add(name, secret) {
      if (known.has(secret)) return;
      known.add(secret);
      for (const form of formsOf(secret))
        for (let from = 0; from + PIECE <= form.length; from += 1) names.set(form.slice(from, from + PIECE), name);
    },
    in(text) {
      const found = new Set<string>();
      for (let from = 0; from + PIECE <= text.length; from += 1) {
        const name = names.get(text.slice(from, from + PIECE));
        if (name !== undefined) found.add(name);
      }
      return [...found];
    },
  };
}

/** As it is, as JSON and URLs have it, and in base64 from each of the three places where it can begin in a group of four. */
function formsOf(secret: string): readonly string[] {
  const encoded = [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.from(`${'.'.repeat(offset)}${secret}`);
    // Without what the bytes before and after it are mixed into.
    const inner = (text: string): string => text.slice(offset === 0 ? 0 : 4, -4);
    return [inner(bytes.toString('base64')), inner(bytes.toString('base64url'))];
  });
  return [...new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...encoded])];
}
