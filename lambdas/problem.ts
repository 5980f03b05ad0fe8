/** Something that is wrong outside of certmarshal, and what a person does about it. */
export interface Problem {
  /** What kind of trouble it is, in one word: an error's kind (`forbidden`), or `missing`, `lane`, `credentials`. */
  readonly kind: string;
  /** What it is about: a request, or what was attempted on which server. */
  readonly object: string;
  readonly message: string;
  readonly remedy: string;
}
